#!/usr/bin/env python3
"""Runs an example with such numbers of processors and compares what it prints with a file.

usage: run_example.py PROGRAM EXPECTED PROCESSORS...
"""
import difflib
import os
import subprocess
import sys

TIMEOUT_S = 150


def check(program, expected, procs):
    """Whether the program did as expected; says on standard error what it did otherwise."""
    environment = dict(os.environ, SLEY_MAXPROCS=procs)
    replay = f"SLEY_MAXPROCS={procs} {program}"
    try:
        done = subprocess.run([program], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="backslashreplace",
                              timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as e:
        print(f"{replay}: still running after {TIMEOUT_S} s; its output:\n{e.stdout}{e.stderr}",
              file=sys.stderr)
        return False
    difference = list(difflib.unified_diff(expected.splitlines(), done.stdout.splitlines(),
                                           "expected", "printed", lineterm=""))
    if done.returncode == 0 and not difference and not done.stderr:
        return True
    print(f"{replay}: status {done.returncode}", *difference, done.stderr, sep="\n",
          file=sys.stderr)
    return False


def main():
    program, expected_path, *proc_counts = sys.argv[1:]
    with open(expected_path, encoding="utf-8") as file:
        expected = file.read()
    return 0 if all([check(program, expected, procs) for procs in proc_counts]) else 1


if __name__ == "__main__":
    sys.exit(main())
