#!/usr/bin/env python3
"""The list of all public names, each with a page and a piece of code that show it: docs/names.md.

usage: names.py XML           says which name has none, and whether the list is current
       names.py XML --write   writes the list

XML is what Doxygen writes. Members of classes are not listed: they are on the page of their class. A page
of the guide comes before other pages, and an example before code on a page, which the tests compile too.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as ET

PAGE = "docs/names.md"
HEAD = """# All names

Each public name with its header, a page about it, and code that shows it. Members are described with their classes, by
`./dev docs`. This list is made by `./dev docs --names`.

| name | header | page | code |
|---|---|---|---|
"""
# What other libraries ask for, and programs do not call.
NOT_CALLED = {"query", "require", "swap", "teardown", "beast_close_socket", "make_error_code",
              "make_error_condition", "get_context_t", "use_goroutine_t"}
# Pages that name everything, or the inside.
NOT_PAGES = {PAGE, "docs/go_map.md", "docs/go_internals_map.md", "docs/memory_orders.md", "docs/glossary.md",
             "docs/style.md"}


def located(node):
    return node.find("location").get("file").removeprefix("include/")


def names(xml):
    """{qualified name: header} of the names in namespaces."""
    found = {}
    for path in sorted(glob.glob(os.path.join(xml, "*.xml"))):
        if not re.search(r"/(namespace|class|struct|union|concept)\w+\.xml$", path):
            continue
        compound = ET.parse(path).getroot().find("compounddef")
        name = compound.findtext("compoundname").split("<")[0]
        if not name.startswith("sley") or "::detail" in name:
            continue
        if compound.get("kind") == "namespace":
            for member in compound.iter("memberdef"):
                if not member.findtext("name").startswith("operator"):
                    found.setdefault(f"{name}::{member.findtext('name')}", located(member))
        else:
            found.setdefault(name, located(compound))
    classes = {name for name in found}
    return {name: header for name, header in sorted(found.items())
            if name.rsplit("::", 1)[0] not in classes and name.rsplit("::", 1)[1] not in NOT_CALLED}


def texts(patterns):
    result = {}
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            if path not in NOT_PAGES:
                with open(path, encoding="utf-8") as file:
                    result[path] = file.read()
    return result


def first(pattern, where):
    return next((path for path, text in where.items() if re.search(pattern, text)), None)


def link(path):
    return f"[{os.path.basename(path)}]({os.path.relpath(path, 'docs')})" if path else ""


def rows(xml):
    """(name, header, page, code) of each name."""
    pages = texts(["docs/guide/[!fm]*.md", "docs/guide/more.md", "docs/guide/from_go.md", "docs/*.md",
                   "README.md"])
    examples = texts(["examples/*.cpp", "examples/*/*.[ch]pp"])
    blocks = {page: "\n".join(re.findall(r"^```cpp\n(.*?)^```", text, re.S | re.M))
              for page, text in pages.items()}
    for name, header in names(xml).items():
        space, word = name.split("::")[-2:]
        called = rf"\b{space}::{word}\b"
        named = rf"{called}|`[^`\n]*\b{word}\b[^`\n]*`"
        yield name, header, first(named, pages), first(called, examples) or first(called, blocks)


def main(xml, is_writing):
    table = list(rows(xml))
    text = HEAD + "".join(f"| `{name}` | `<{header}>` | {link(page)} | {link(code)} |\n"
                          for name, header, page, code in table)
    complaints = [f"{header}: {name} is shown by no {what}" for name, header, page, code in table
                  for what, path in (("page", page), ("example and no code of a page", code)) if not path]
    if is_writing:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(text)
    elif not os.path.exists(PAGE) or open(PAGE, encoding="utf-8").read() != text:
        complaints.append(f"{PAGE} is not current: ./dev docs --names")
    print(*complaints, sep="\n", end="\n" if complaints else "", file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--write" in sys.argv))
