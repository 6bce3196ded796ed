#!/usr/bin/env python3
"""What it costs to include each public header, beside nothing and beside the standard library.

    cost.py [ROUNDS [HEADER...]]     from the root of the tree; ROUNDS (9) of each, their medians

For each header: the lines that the preprocessor leaves, and the seconds of CPU time that g++ -O0
(CXX, where it is set) takes to check a file that includes nothing else, and to compile it. The rows
in <> are of the standard library alone. HEADER names some of the headers: sley.hpp go.hpp.
"""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

STANDARD = [
    "chrono",
    "functional string chrono vector",
    # What sley.hpp needs of it: see docs/performance.md.
    "chrono condition_variable coroutine functional future memory mutex optional stop_token string "
    "system_error unordered_map vector",
]
OTHERS = ["asio.hpp", "curl.hpp", "execution.hpp", "gtest.hpp", "http.hpp", "https.hpp", "nats.hpp", "opentelemetry.hpp",
          "postgres.hpp", "redis.hpp", "testing.hpp", "tls.hpp"]  # of other libraries


def cpu_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def row(folder, rounds, name, headers):
    source = os.path.join(folder, "a.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write("".join(f"#include <{header}>\n" for header in headers))
    compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O0", "-Iinclude", source]
    text = subprocess.run(compiler + ["-E", "-P"], check=True, stdout=subprocess.PIPE).stdout
    checks, compiles = [], []
    for _ in range(rounds):  # in turn, so that a machine whose speed drifts slows both
        checks.append(cpu_seconds(compiler + ["-fsyntax-only"]))
        compiles.append(cpu_seconds(compiler + ["-c", "-o", os.path.join(folder, "a.o")]))
    print(f"{text.count(bytes([10])):7} {statistics.median(checks):8.3f} "
          f"{statistics.median(compiles):8.3f}  {name}", flush=True)


def main(arguments):
    if arguments and not arguments[0].isdecimal():
        sys.exit("usage: ./dev headers [ROUNDS [HEADER...]]")
    rounds = int(arguments[0]) if arguments else 9
    headers = arguments[1:] or sorted(
        name for name in os.listdir("include/sley") if name.endswith(".hpp") and name not in OTHERS)
    print("  lines    check  compile  what is included")
    with tempfile.TemporaryDirectory() as folder:
        row(folder, rounds, "nothing", [])
        for group in STANDARD:
            row(folder, rounds, f"<{group}>", group.split())
        for header in headers:
            row(folder, rounds, header, [f"sley/{header}"])


if __name__ == "__main__":
    main(sys.argv[1:])
