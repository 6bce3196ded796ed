#!/usr/bin/env python3
"""What must not compile (Go's test/chan/perm.go, and the misuse that types keep out).

usage: must_not_compile.py COMPILER INCLUDE_DIR

Each snippet in must_not_compile/ has one mistake, in the #else of `#ifdef CORRECTED`. With CORRECTED
defined it must compile; without, the compiler must refuse it. Its first error must match one of the
patterns of the `// expect:` lines: a sentence that a newcomer understands. A sentence of sley's is
the only error; in its own words the compiler may say the same twice. With all notes there are no
more than MOST_LINES.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HEADER = "#include <sley/sley.hpp>\n"
MOST_LINES = 40


def run_compiler(command):
    """The compiler's status and messages."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=100,
                          env={**os.environ, "LC_ALL": "C"})
    return done.returncode, done.stderr


def precompile(command, folder):
    """The arguments that make all begin with what all include, precompiled for the sake of time."""
    header = os.path.join(folder, "all.hpp")
    with open(header, "w", encoding="utf-8") as file:
        file.write(HEADER)
    # What the header uses of templates, once and not in each compilation; g++ can't.
    once = ["-fpch-instantiate-templates"] if "clang" in os.path.basename(command[0]) else []
    status, messages = run_compiler(
        [*command, *once, "-x", "c++-header", header, "-o", header + ".gch"])
    if status != 0:
        sys.exit(f"does not compile: {HEADER}{messages}")
    return ["-include", header]


def compile_together(command, paths, scratch):
    """Whether all compile with CORRECTED as one file, which takes a fraction of the time."""
    includes = set()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            includes |= set(re.findall(r"^#include <.*>$", file.read(), re.MULTILINE))
    together = os.path.join(scratch, "together.cpp")
    with open(together, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in sorted(includes))
        for number, path in enumerate(paths):
            file.write(f'namespace snippet_{number} {{\n#include "{path}"\n}}\n')
    return run_compiler([*command, "-DCORRECTED", together])[0] == 0


def problems_of(command, path, are_correctable):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    expected = re.findall(r"^// expect: (.*)$", text, re.MULTILINE)
    if not expected:
        yield "has no `// expect:` line"
    if HEADER not in text:
        yield "lacks " + HEADER
    if not are_correctable:
        status, messages = run_compiler([*command, "-DCORRECTED", path])
        if status != 0:
            yield "does not compile when corrected:\n" + messages
    status, messages = run_compiler([*command, path])
    if status == 0:
        yield "compiles"
        return
    lines = messages.splitlines()
    errors = [line for line in lines if "error: " in line]
    if not any(re.search(pattern, errors[0]) for pattern in expected):
        yield "is refused for another reason than expected:\n" + messages
    if len(errors) > (1 if "static assertion failed" in errors[0] else 2) or len(lines) > MOST_LINES:
        yield f"is refused with {len(errors)} errors in {len(lines)} lines:\n{messages}"


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    compiler, include = arguments
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "must_not_compile")
    names = sorted(name for name in os.listdir(folder) if name.endswith(".cpp"))
    paths = [os.path.join(folder, name) for name in names]
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror=unused-result", "-I", include]
    failed = 0
    with (tempfile.TemporaryDirectory() as scratch,
          concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool):
        command += ["-fsyntax-only", *precompile(command, scratch)]
        are_correctable = compile_together(command, paths, scratch)
        for name, problems in zip(names, pool.map(
                lambda path: list(problems_of(command, path, are_correctable)), paths)):
            failed += bool(problems)
            for problem in problems:
                print(f"{name}: {problem}")
    print(f"must_not_compile: {len(names)} snippets, {failed} failed")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
