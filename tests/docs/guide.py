#!/usr/bin/env python3
"""Compiles and runs the C++ of the guide.

usage: guide.py generate OUTPUT PAGE     the page's blocks as one file, a function for each
       guide.py run PROGRAM PAGE         runs each, and compares what it prints with the page

A block with a main() is a whole program; any other block is the body of a main goroutine, after what
guide_context.hpp includes. The block of `text` behind it is what it prints: "..." stands for any
text, a line "..." for any number of lines. A last line "Aborted" is what a shell says of SIGABRT; then
what goes to standard error belongs to the text. Without such a block the program prints nothing.
"""
import os
import re
import signal
import subprocess
import sys

from fences import INCLUDE, fences

LIMIT_S = 60
ABORTED = "Aborted\n"


def programs(page):
    """(line, code, what it prints) of each block of C++."""
    blocks = list(fences(page))
    for block, following in zip(blocks, [*blocks[1:], (0, "", "")]):
        if block[1] == "cpp":
            yield block[0], block[2], following[2] if following[1] == "text" else ""


def name_of(page):
    return os.path.splitext(os.path.basename(page))[0]


def function(page, line, code):
    code = INCLUDE.sub("", code)  # the lines stay
    if "int main(" in code:
        # The function that is called in place of main() returns 0 as main() does.
        code = (f'#line {line} "{page}"\n' + code.replace("int main(", "int program(").rstrip()
                .removesuffix("}") + "\nreturn 0;\n}\n")
    else:
        code = f'int program() {{\nreturn sley::run([] {{\n#line {line} "{page}"\n{code}}});\n}}\n'
    return (f"namespace line_{line} {{\n{code}"
            f'const guide::program_of_page entry{{"{name_of(page)}", {line}, program}};\n}}\n')


def generate(output, page):
    found = list(programs(page))
    includes = sorted({name for _, code, _ in found for name in INCLUDE.findall(code)})
    text = "\n".join(['#include "docs/guide_context.hpp"', *includes, "namespace {",
                      *(function(page, line, code) for line, code, _ in found), "}"])
    with open(output, "w", encoding="utf-8") as file:
        file.write(text + "\n")


def pattern(wanted):
    lines = []
    for line in wanted.splitlines(keepends=True):
        lines.append("(?:.*\n)*" if line == "...\n" else re.escape(line).replace(r"\.\.\.", ".*"))
    return "".join(lines)


def run(program, page):
    """Whether each block of the page printed what the page says."""
    is_right = True
    for line, _, wanted in programs(page):
        aborts = wanted.endswith("\n" + ABORTED)
        expected = wanted.removesuffix(ABORTED) if aborts else wanted
        done = subprocess.run([program, name_of(page), str(line)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, timeout=LIMIT_S,
                              stderr=subprocess.STDOUT if aborts else None)
        if done.returncode != (-signal.SIGABRT if aborts else 0) or not re.fullmatch(
                pattern(expected), done.stdout):
            is_right = False
            print(f"{page}:{line}: status {done.returncode}, and it printed\n{done.stdout}"
                  f"but the page says\n{wanted}", file=sys.stderr)
    return is_right


if __name__ == "__main__":
    if sys.argv[1] == "generate":
        generate(*sys.argv[2:])
    else:
        sys.exit(0 if run(*sys.argv[2:]) else 1)
