#!/usr/bin/env python3
"""The module exports the names that docs/names.md lists for the headers it is made of.

usage: exports_test.py REPOSITORY    ends with status 1 after naming what is missing, or no name
"""
import os
import re
import sys

# Headers of other libraries.
OTHER = re.compile(r"sley/(asio|curl|execution|gtest|http|https|nats|opentelemetry|postgres|redis|testing|tls)"
                   r"(\.hpp|/)")
# What the list leaves out: overloaded functions that others find by their arguments, and names of the
# standard library.
BESIDE = {"sley::cv_status", "sley::future_status", "sley::make_error_code", "sley::operator co_await",
          "sley::os::operator&", "sley::os::operator|", "sley::os::operator|=", "sley::swap"}


def main(repository):
    with open(os.path.join(repository, "docs/names.md"), encoding="utf-8") as file:
        listed = re.findall(r"^\| `(sley::[^`]+)` \| `<([^>]+)>`", file.read(), re.M)
    with open(os.path.join(repository, "modules/sley.cppm"), encoding="utf-8") as file:
        exported = set(re.findall(r"^using (sley::[^;]+);", file.read(), re.M))
    wanted = {name for name, header in listed if not OTHER.match(header)} | BESIDE
    for name in sorted(wanted - exported):
        print(f"modules/sley.cppm does not export {name}")
    for name in sorted(exported - wanted):
        print(f"modules/sley.cppm exports {name}, which docs/names.md does not list")
    return 0 if wanted == exported else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
