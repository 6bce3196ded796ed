#!/usr/bin/env python3
"""Each public header says in one message which flag of the language is wrong, and nothing else.

usage: language_test.py COMPILER INCLUDE_DIR
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

CASES = {
    ("-std=c++17",): "sley needs C++20: compile with -std=c++20 or later",
    ("-std=c++20", "-fno-exceptions"): "sley needs exceptions: compile without -fno-exceptions",
    ("-std=c++20", "-fno-rtti"):
        "sley needs run-time type information: compile without -fno-rtti",
}


def problem_of(compiler, include, header, flags):
    done = subprocess.run(
        [compiler, *flags, f"-I{include}", "-fsyntax-only", "-x", "c++", "-"], text=True,
        input=f"#include <{header}>\n", capture_output=True, timeout=100,
        env={**os.environ, "LC_ALL": "C"})
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    # The second one is the file that ends the compilation.
    if done.returncode != 0 and len(errors) == 2 and CASES[flags] in errors[0]:
        return None
    return f"{header} with {' '.join(flags)}:\n{done.stderr}"


def main():
    compiler, include = sys.argv[1:]
    root = pathlib.Path(include)
    headers = [str(p.relative_to(root)) for p in sorted(root.glob("sley/**/*.hpp"))
               if "detail" not in p.parts]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(
            lambda job: problem_of(compiler, include, *job),
            [(header, flags) for header in headers for flags in CASES]) if p]
    if not headers or problems:
        sys.exit("\n".join(problems) or f"no headers in {include}")


main()
