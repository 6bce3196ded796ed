#!/usr/bin/env python3
"""Run sley_curves at all its sizes and print a table: CPU time of one operation by size.

usage: curves.py PROGRAM [--rounds 3] [curve ...]

A cell is the least of the rounds, in which all sizes run one after the other. A cell with a `!` costs
more than three times the one before it: perhaps a cliff. At one processor, but for the curves over
processors.
"""
import argparse
import os
import subprocess

CLIFF = 3


def cpu_ns(program, curve, size):
    environment = dict(os.environ, SLEY_MAXPROCS="1")
    line = subprocess.run([program, curve, size], env=environment, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return float(dict(field.split("=", 1) for field in line.split())["cpu_ns"])


def cells(costs):
    for before, cost in zip([costs[0], *costs], costs):
        yield f"{cost:.4g}" + "!" * (cost > CLIFF * before)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("program")
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("curves", nargs="*")
    o = ap.parse_intermixed_args()
    listed = subprocess.run([o.program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, *sizes in map(str.split, listed.splitlines()):
        if o.curves and name not in o.curves:
            continue
        rounds = [[cpu_ns(o.program, name, size) for size in sizes] for _ in range(o.rounds)]
        costs = [min(times) for times in zip(*rounds)]
        print(f"| {name} | " + " | ".join(f"{int(size):,}" for size in sizes) + " |")
        print("|---|" + "---:|" * len(sizes))
        print("| CPU ns | " + " | ".join(cells(costs)) + " |\n", flush=True)


if __name__ == "__main__":
    main()
