#!/usr/bin/env python3
"""Each public function that takes something hostile is called by a test of tests/hostile.

usage: tables_test.py REPOSITORY    ends with status 1 after naming what has no test, or no function
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from declarations import declarations, normal  # noqa: E402

# What is called by no test of tests/hostile, and why that is so.
EXEMPT = {
    "channel_closed::channel_closed(char* what)": "the library's own throws alone make one",
    "after_func(F, duration d)": "it does not compile: it says that the time comes first",
    "http::fields::iterator::iterator(fields* of, size_t i)": "begin() and end() make them",
    "http::fields::add_valid(string_view name, string_view value)": "documented as unchecked",
    "http::connection::read_some(span<byte> buffer, error_code error)": "an interface",
    "http::connection::write_some(span<iovec> buffers, error_code error)": "an interface",
    "http::connection::write_all(span<iovec> buffers, error_code error)": "an interface",
    "http::connection::set_read_deadline(time_point when)": "an interface",
    "http::connection::set_write_deadline(time_point when)": "an interface",
    "testing::explore(options o, function<void()> f)": "tests/simulation/hostile_test.cpp",
    "testing::check(bool holds, string_view what, source_location where)":
        "tests/simulation/hostile_test.cpp",
}


def called(folder):
    """{function: file} of the texts in CALLS(...)."""
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith("_test.cpp"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for call in re.finditer(r"^CALLS\(\w+,\s*((?:\"[^\"]*\"[\s,]*)+)\)", text, re.M):
            joined = re.sub(r"\"\s*\n\s*\"", "", call[1])  # a literal in two lines
            for function in re.findall(r"\"([^\"]*)\"", joined):
                found.setdefault(normal(function), name)
    return found


def main(repository):
    declared = {normal(d.signature): d.header
                for d in declarations(os.path.join(repository, "include"))}
    tested = called(os.path.join(repository, "tests/hostile"))
    exempt = {normal(function) for function in EXEMPT}
    missing = sorted((declared[f], f) for f in declared.keys() - tested.keys() - exempt)
    stale = sorted((name, f) for f, name in tested.items() if f not in declared)
    stale += sorted(("tables_test.py", f) for f in exempt - declared.keys())
    for header, function in missing:
        print(f"{header}: no test of tests/hostile calls {function}")
    for name, function in stale:
        print(f"tests/hostile/{name}: no public header declares {function}")
    return 1 if missing or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
