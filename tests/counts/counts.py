#!/usr/bin/env python3
"""Instructions per operation of the hottest paths, compared with the recorded ones.

usage: counts.py PROGRAM [--record]

PROGRAM is `counted` (counted.cpp), which runs under callgrind at one processor. The counts are the
difference between a pass of n operations and one of 3n, so they have no start and no end in them.
They do not depend on how fast or how busy the machine is. --record writes counts.txt anew.

For each row: the instructions of sley and of the workload (not those of libc), locked instructions,
calls of malloc, and the functions with more than a hundredth of the instructions. A figure that has
grown by more than 3 % is an error, and the functions that have grown are named. What has shrunk is
no error. Status 77, which ctest shows as skipped: no valgrind, or not the compiler of the table.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import callgrind  # noqa: E402

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts.txt")
RECORD = "./dev counts --record"
SKIPPED = 77
LARGEST_GROWTH = 0.03
LEAST_GROWTH = {"instructions": 0.5, "locked": 0.05, "mallocs": 0.02}  # of an operation
SHOWN = 0.01  # of a row's instructions

# The workload's name, and n: enough operations for figures that do not depend on chance.
ROWS = {
    "create_chain": 2000,
    "spawn_join": 1000,
    "spawn_join_batch": 1000,
    "yield1": 2000,
    "yield1000": 4000,
    "pingpong_unbuf": 2000,
    "chan_prodcons_buf128": 2560,
    "chan_uncontended_buf": 4000,
    "select2": 4000,
    "select_default_nonblocking": 20000,
    "mutex_uncontended": 20000,
    "once": 50000,
    "threadring503": 5030,
    "timer_reset_stop": 2000,
    "syscall_overhead": 2000,
}


class Row:
    """The figures of one workload, each for one operation."""

    def __init__(self, locked, mallocs, functions):
        self.locked, self.mallocs, self.functions = locked, mallocs, functions

    @property
    def instructions(self):
        return sum(self.functions.values())


def measure(program, name):
    n = ROWS[name]
    with tempfile.TemporaryDirectory() as folder:
        parts = callgrind.run([program, name, str(n)], folder, "counted_mark")
    _, _, short, long = parts  # the first is the start, the second the warm-up
    counts = callgrind.difference(long, short)
    functions = {f: count / (2 * n) for f, count in counts.instructions.items() if count}
    return Row(counts.locked / (2 * n), counts.mallocs / (2 * n), functions)


def measure_all(program):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        rows = workers.map(lambda name: measure(program, name), ROWS)
        return dict(zip(ROWS, rows))


# --- the table -----------------------------------------------------------------------------------

OTHERS = "(others)"


def write_table(rows, compiler):
    yield f"compiler {compiler}"
    yield f"# Written by {RECORD}; see counts.py. Instructions for one operation, by function."
    for name, row in rows.items():
        yield ""
        yield (f"row {name}  instructions {row.instructions:.1f}  locked {row.locked:.2f}"
               f"  mallocs {row.mallocs:.2f}")
        least = SHOWN * row.instructions
        shown = sorted(((c, f) for f, c in row.functions.items() if c >= least), reverse=True)
        rest = row.instructions - sum(count for count, _ in shown)
        for count, function in shown + [(rest, OTHERS)] * (rest >= 0.05):
            yield f"{count:9.1f}  {function}"


def read_table(lines):
    """The compiler, and {name: Row}."""
    compiler, rows, row = "", {}, None
    for line in lines:
        words = line.split()
        if not words or words[0] == "#":
            continue
        if words[0] == "compiler":
            compiler = " ".join(words[1:])
        elif words[0] == "row":
            figures = dict(zip(words[2::2], map(float, words[3::2])))
            row = rows[words[1]] = Row(figures["locked"], figures["mallocs"], {})
        else:
            row.functions[words[1]] = float(words[0])
    return compiler, rows


# --- the comparison ------------------------------------------------------------------------------

def grown(old, new):
    """[(figure, before, after)] of what has grown too much."""
    for figure, least in LEAST_GROWTH.items():
        before, after = getattr(old, figure), getattr(new, figure)
        if after > before * (1 + LARGEST_GROWTH) and after - before >= least:
            yield figure, before, after


def grown_functions(old, new):
    """Lines about the functions of a row that have grown, the largest growth first."""
    kept = {f for f in old.functions if f != OTHERS}
    growth = [(count - old.functions.get(f, 0), f) for f, count in new.functions.items() if f in kept]
    # What the table does not name is among the others, if it was there at all.
    least = SHOWN * new.instructions
    growth += [(count, f) for f, count in new.functions.items() if f not in kept and count >= least]
    for more, function in sorted(growth, reverse=True)[:8]:
        if more >= LEAST_GROWTH["instructions"]:
            before = old.functions.get(function)
            was = "new among the larger ones" if before is None else f"was {before:.1f}"
            yield f"    {more:+8.1f}  {function} ({was})"


def compare(old_rows, new_rows):
    """Lines about what has grown too much, if anything has."""
    for name, new in new_rows.items():
        old = old_rows.get(name)
        if old is None:
            yield f"{name} is not in the table"
            continue
        found = list(grown(old, new))
        for figure, before, after in found:
            yield f"{name}: {figure} for one operation grew from {before:.2f} to {after:.2f}"
        if found:
            yield from grown_functions(old, new)


def shrunk(old_rows, new_rows):
    return [f"{name} {old_rows[name].instructions:.1f} to {new.instructions:.1f}"
            for name, new in new_rows.items() if name in old_rows
            and new.instructions < old_rows[name].instructions * (1 - LARGEST_GROWTH)]


def check(rows):
    with open(TABLE, encoding="utf-8") as file:
        _, recorded = read_table(file)
    lines = list(compare(recorded, rows))
    fewer = shrunk(recorded, rows)
    if fewer:
        print(f"Instructions have become fewer, so {RECORD} may write the table anew:", *fewer, sep="\n  ")
    if not lines:
        print(f"{len(rows)} rows: none has grown by more than {LARGEST_GROWTH:.0%}")
        return 0
    print(*lines, sep="\n")
    print(f"If that is meant, {RECORD} writes the table anew; the commit says why.")
    return 1


def main(arguments):
    program, *options = arguments
    if options not in ([], ["--record"]):
        sys.exit("usage: ./dev counts [--record]")
    is_record = bool(options)
    if shutil.which("valgrind") is None:
        print("skipped: valgrind is not installed (./dev setup)")
        return SKIPPED
    compiler = subprocess.run([program, "compiler"], check=True, capture_output=True, text=True).stdout.strip()
    with open(TABLE, encoding="utf-8") as file:
        of_table, _ = read_table(file)
    if not is_record and compiler != of_table:
        print(f"skipped: the counts are those of {of_table}, and this is {compiler}")
        return SKIPPED
    rows = measure_all(program)
    if not is_record:
        return check(rows)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in write_table(rows, compiler))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
