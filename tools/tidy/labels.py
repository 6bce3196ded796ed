#!/usr/bin/env python3
"""The table of order labels in docs/memory_orders.md, made from the comments that define them.

usage: labels.py [ROOT]    writes the table between its two marks

tidy reports a table that is not what this would write.
"""
import os
import re
import sys

PAGE = "docs/memory_orders.md"
BEGIN = "<!-- The table is written by `./dev labels`. -->"
END = "<!-- end of the table -->"


def first_sentence(definition):
    """What a label is about: its text up to the first full stop."""
    text = " ".join(definition.split())
    text = re.sub(r"^[A-Z]{2,4}-\d+ ", "", text)
    text = re.split(r"(?<=[a-z0-9)_`])\.(?: |$)", text)[0]
    return text.replace("|", "\\|").replace("<->", "↔").replace("<", "&lt;")


def table(defined, definition):
    """`defined`: {label: [(path, line)]}; `definition(path, line)`: the whole comment."""
    lines = ["| label | declared in | what it orders |", "|---|---|---|"]
    for label, places in sorted(defined.items()):
        path, line = places[0]
        lines.append(f"| {label} | `{path}` | {first_sentence(definition(path, line))} |")
    return "\n".join(lines)


def of_page(text):
    """What stands between the marks; None if one of them is missing."""
    found = re.search(re.escape(BEGIN) + r"\n\n(.*?)\n\n" + re.escape(END), text, re.S)
    return found and found[1]


def replaced(text, new):
    begin, end = text.index(BEGIN), text.index(END)
    return f"{text[:begin]}{BEGIN}\n\n{new}\n\n{text[end:]}"


def main(root):
    import tidy  # which imports this module
    tree = tidy.Tree(root)
    page = os.path.join(root, PAGE)
    text = tree.read(PAGE)
    if of_page(text) is None:
        sys.exit(f"{PAGE}: the marks of the table are missing: {BEGIN} and {END}")
    with open(page, "w", encoding="utf-8") as file:
        file.write(replaced(text, tidy.label_table(tree)))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
