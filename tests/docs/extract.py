#!/usr/bin/env python3
"""Takes the C++ out of the documents, so that a compiler sees it.

usage: extract.py OUTPUT [--with PATTERN | --without PATTERN] DOCUMENT...
       extract.py OUTPUT --program DOCUMENT TEXT REPLACEMENT

Without --program: all blocks of the documents (that match the pattern, or do not) as one file. A block
is a namespace of its own; one that is no whole file and begins with no function is the body of one.
What the documents leave out is in context.hpp, in a namespace named after the document.
With --program: the first block of the document, a whole program, with one text in it replaced.
Errors are at the lines of the document.
"""
import os
import re
import sys

from fences import INCLUDE, fences

FUNCTION = re.compile(r"[\w:<>&*, ]+ \w+\(.*\) *\{$|TEST\(")


def blocks(path):
    """(line, text) of each block of C++; the line is that of its first one."""
    return ((line, text) for line, language, text in fences(path) if language == "cpp")


def stem(path):
    return re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0]).lower()


def located(path, line, text):
    return f'#line {line} "{path}"\n{text}'


def as_namespace(path, line, text):
    has_includes = INCLUDE.search(text) is not None
    text = INCLUDE.sub("", text)  # the lines stay
    code = located(path, line, text)
    if not has_includes and not FUNCTION.match(text.lstrip().split("\n")[0]):
        code = f"void block() {{\n{code}}}\n"
    return f"namespace {stem(path)} {{ namespace line_{line} {{\n{code}}}}}\n"


def snippets(documents, wanted):
    found = [(path, line, text) for path in documents for line, text in blocks(path) if wanted(text)]
    includes = sorted({name for _, _, text in found for name in INCLUDE.findall(text)})
    includes += ['#include "docs/context.hpp"']
    for library in ("boost", "curl", "execution", "nats", "opentelemetry", "postgres", "redis"):
        if any(re.search(rf"{library}(::|;)", text) for _, _, text in found):
            includes += [f'#include "docs/{library}_context.hpp"']
    return "\n".join(includes + [as_namespace(*block) for block in found])


def program(path, text, replacement):
    line, code = next(iter(blocks(path)))
    if "int main(" not in code or code.count(text) != 1:
        sys.exit(f"{path}:{line}: no program with one {text}")
    return located(path, line, code.replace(text, replacement))


def main(arguments):
    output, rest = arguments[0], arguments[1:]
    if rest[0] == "--program":
        code = program(*rest[1:])
    elif rest[0] in ("--with", "--without"):
        pattern = re.compile(rest[1])
        code = snippets(rest[2:], lambda text: (pattern.search(text) is not None)
                        == (rest[0] == "--with"))
    else:
        code = snippets(rest, lambda _: True)
    with open(output, "w", encoding="utf-8") as file:
        file.write(code)


main(sys.argv[1:])
