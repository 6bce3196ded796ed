#!/usr/bin/env python3
"""Shows Doxygen a page, with links as it wants them.

usage: pages.py PAGE     what Doxygen reads in the page's place, on standard output

A link to another page leads there, and makes it a page below the two index pages. A link to any other
file of the repository is its path alone, because the site has only pages. Code and pictures stay as they
are.
"""
import os
import re
import sys

LINK = re.compile(r"`[^`]*`|!?\[([^\]]*)\]\(([^)\s]+)\)")
# Each page has one place in the tree of pages: below the first of these that names its folder.
INDEXES = {"docs/guide/index.md": "docs/guide", "docs/index.md": "docs"}


def name(path):
    """Doxygen's name of a page."""
    return "md_" + re.sub(r"\W", "_", path.removesuffix(".md"))


def link(page, found):
    text, target = found[1], found[2]
    if text is None or "://" in target or found[0].startswith("!"):
        return found[0]
    file = target.split("#")[0]
    path = os.path.normpath(os.path.join(os.path.dirname(page), file)) if file else page
    if path == "docs/guide/index.md":
        return f'@ref index "{text}"'
    if path.endswith(".md") and (path.startswith("docs/") or path in ("README.md", "examples/README.md")):
        is_below = INDEXES.get(page) == os.path.dirname(path) and path != page
        return f'@{"subpage" if is_below else "ref"} {name(path)} "{text}"'
    return f"`{path}`"


def main(path):
    page = os.path.relpath(path)
    is_code = False
    with open(path, encoding="utf-8") as file:
        for line in file:
            is_code ^= line.startswith("```")
            print(line if is_code else LINK.sub(lambda found: link(page, found), line), end="")


main(sys.argv[1])
