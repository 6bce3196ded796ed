#!/usr/bin/env python3
"""What must not compile (Go's test/chan/perm.go, and the misuse that types keep out).

usage: must_not_compile.py COMPILER INCLUDE_DIR

Each snippet in must_not_compile/ has one mistake, in the #else of `#ifdef CORRECTED`. With CORRECTED
defined it must compile; without, the compiler must refuse it, and its messages must match one of the
patterns of the `// expect:` lines, so that it is refused for the right reason.
"""
import os
import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra"]


def compile_snippet(compiler, include, path, *defines):
    """The compiler's status and messages."""
    command = [compiler, *FLAGS, "-I", include, *("-D" + d for d in defines), path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100,
                          env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stderr


def problems_of(compiler, include, path):
    with open(path, encoding="utf-8") as file:
        expected = re.findall(r"^// expect: (.*)$", file.read(), re.MULTILINE)
    if not expected:
        yield "has no `// expect:` line"
    status, messages = compile_snippet(compiler, include, path, "CORRECTED")
    if status != 0:
        yield "does not compile when corrected:\n" + messages
    status, messages = compile_snippet(compiler, include, path)
    if status == 0:
        yield "compiles"
    elif not any(re.search(pattern, messages) for pattern in expected):
        yield "is refused for another reason than expected:\n" + messages


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    compiler, include = arguments
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "must_not_compile")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".cpp"))
    failed = 0
    for name in names:
        problems = list(problems_of(compiler, include, os.path.join(folder, name)))
        failed += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"must_not_compile: {len(names)} snippets, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
