#!/usr/bin/env python3
"""Run the workloads of SPEC.md with sley, Go and other libraries in turn, and print one table.

usage: peers.py --folder FOLDER [--go PROGRAM] [--procs N] [--rounds 3] [--cpu] [--chart FILE]
                [workload ...]

FOLDER has the programs sley_bench and peer_*; what is not there is left out. In each round
every program that has the workload runs it once, one after the other, so a machine whose speed drifts
slows all. A cell is the median of the rounds, and in brackets the time of that program for one of
sley's: the median of the rounds' ratios, their least and their greatest. Above 1: sley is faster.

--cpu compares the processes' CPU time for one operation, not the wall time: for a machine with other
work. Below the table: the machine, and the share of its CPUs that other processes had meanwhile. A chart
(SVG) is written only where that was at most 5 %. Standard library only.
"""
import argparse
import math
import os
import platform
import statistics
import subprocess
import sys
import time
from xml.sax.saxutils import escape

ROWS = ["create_chain", "spawn_join_batch", "yield1000", "pingpong_unbuf", "chan_prodcons_buf128",
        "threadring503", "mutex_uncontended", "fib_spawn", "skynet", "tcp_echo"]
PEERS = {"peer_boost_fiber": "Boost.Fiber", "peer_onetbb": "oneTBB", "peer_asio_coro": "Asio coroutines",
         "peer_threads": "threads", "peer_epoll": "epoll", "peer_io_uring": "io_uring",
         "peer_io_uring_calls": "io_uring, by calls"}
QUIET_PERCENT = 5


class Program:
    def __init__(self, name, command, variable):
        self.name, self.command, self.variable = name, command, variable
        self.rows = {line.split()[0] for line in self.output(["list"]).splitlines()}

    def output(self, arguments, procs=1):
        environment = dict(os.environ, **{self.variable: str(procs)})
        return subprocess.run(self.command + arguments, env=environment, capture_output=True, text=True,
                              timeout=300, check=True).stdout

    def ns_per_op(self, workload, procs, is_cpu):
        fields = dict(f.split("=", 1) for f in self.output([workload], procs).split())
        if is_cpu:
            return float(fields["cpu_ms"]) * 1e6 / float(fields["ops"])
        return float(fields["ns_per_op"])


def programs(folder, go):
    yield Program("sley", [f"{folder}/sley_bench"], "SLEY_MAXPROCS")
    if go:
        yield Program("Go", [go], "GOMAXPROCS")
    for file, name in PEERS.items():
        if os.path.exists(f"{folder}/{file}"):
            yield Program(name, [f"{folder}/{file}"], "BENCH_PROCS")


# --- the machine ---------------------------------------------------------------------------------

def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((l.split(":")[1].strip() for l in file if l.startswith("model name")), "unknown CPU")
    return f"{model}, {os.cpu_count()} CPUs, Linux {platform.release().split('-')[0]}"


class OtherWork:
    """The share of all CPUs that processes other than ours have."""

    def __init__(self):
        self.busy, self.ours, self.at = self._busy(), self._ours(), time.monotonic()

    def percent(self):
        busy, ours, wall = self._busy() - self.busy, self._ours() - self.ours, time.monotonic() - self.at
        return max(0.0, 100 * (busy - ours) / (wall * os.cpu_count()))

    @staticmethod
    def _busy():
        with open("/proc/stat", encoding="utf-8") as file:
            user, nice, system, _, _, irq, softirq, *rest = map(int, file.readline().split()[1:])
        return (user + nice + system + irq + softirq + sum(rest[:1])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _ours():
        t = os.times()
        return t.user + t.system + t.children_user + t.children_system


# --- the table -----------------------------------------------------------------------------------

def measure(all_programs, workload, options):
    """{name: [ns_per_op of each round]}; what fails is left out and named."""
    runners = [p for p in all_programs if workload in p.rows]
    times = {p.name: [] for p in runners}
    for _ in range(options.rounds):
        for p in list(runners):
            try:
                times[p.name].append(p.ns_per_op(workload, options.procs, options.cpu))
            except (subprocess.SubprocessError, KeyError) as error:
                print(f"{workload}: {p.name} failed: {error}", file=sys.stderr)
                runners.remove(p)
                del times[p.name]
    return times


def ratios(times, name):
    return [t / s for t, s in zip(times[name], times["sley"])]


def number(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def cell(times, name):
    if name not in times:
        return ""
    text = number(statistics.median(times[name]))
    if name == "sley":
        return text
    r = ratios(times, name)
    return f"{text} ({statistics.median(r):.2f}, {min(r):.2f} to {max(r):.2f})"


def print_row(workload, times, names):
    print(f"| {workload} | " + " | ".join(cell(times, name) for name in names) + " |", flush=True)


# --- the chart -----------------------------------------------------------------------------------

COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#888888", "#222222"]
assert len(COLOURS) > len(PEERS), "Go and each peer have a colour of their own"
BAR, GAP, LEFT, WIDTH = 12, 14, 190, 520
LEGEND_COLUMNS, LEGEND_COLUMN, LEGEND_LINE = 5, 150, 16


def chart(results, names, caption):
    """Bars of time for one of sley's, on a logarithmic axis."""
    others = [n for n in names if n != "sley"]
    cells = [(w, [(n, statistics.median(ratios(t, n))) for n in others if n in t]) for w, t in results.items()]
    values = [r for _, bars in cells for _, r in bars]
    low, high = math.floor(math.log10(min(values + [1]))), math.ceil(math.log10(max(values + [10])))

    def x(ratio):
        return LEFT + WIDTH * (math.log10(ratio) - low) / (high - low)

    shapes, y = [], 60
    for workload, bars in cells:
        shapes.append(f'<text x="{LEFT - 8}" y="{y + BAR}" text-anchor="end">{escape(workload)}</text>')
        for name, ratio in bars:
            colour, start, end = COLOURS[others.index(name)], min(x(1), x(ratio)), max(x(1), x(ratio))
            shapes.append(f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR - 2}" '
                          f'fill="{colour}"/><text x="{end + 4:.1f}" y="{y + BAR - 3}" font-size="9">{number(ratio)}</text>')
            y += BAR
        y += GAP
    for power in range(low, high + 1):
        at = x(10 ** power)
        width = 2 if power == 0 else 0.5
        shapes.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="52" y2="{y}" stroke="#555" stroke-width="{width}"/>'
                      f'<text x="{at:.1f}" y="48" text-anchor="middle">{10 ** power:g}</text>')
    for i, name in enumerate(others):
        line, column = divmod(i, LEGEND_COLUMNS)
        left, top = 10 + column * LEGEND_COLUMN, y + 8 + line * LEGEND_LINE
        shapes.append(f'<rect x="{left}" y="{top}" width="10" height="10" fill="{COLOURS[i]}"/>'
                      f'<text x="{left + 14}" y="{top + 9}">{escape(name)}</text>')
    y += math.ceil(len(others) / LEGEND_COLUMNS) * LEGEND_LINE
    head = f'<text x="10" y="20" font-size="13">Time relative to sley\'s (right of 1: sley is faster)</text>'
    foot = f'<text x="10" y="{y + 24}" font-size="9">{escape(caption)}</text>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 60}" height="{y + 36}" '
            'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>'
            + head + "".join(shapes) + foot + "</svg>\n")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--folder", required=True)
    ap.add_argument("--go")
    ap.add_argument("--procs", type=int, default=1)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--cpu", action="store_true")
    ap.add_argument("--chart")
    ap.add_argument("workloads", nargs="*")
    o = ap.parse_args()
    found = list(programs(o.folder, o.go))
    names = [p.name for p in found]
    print(f"| workload, {'CPU ' * o.cpu}ns | " + " | ".join(names) + " |\n|---|" + "---:|" * len(names), flush=True)
    results, other_work = {}, OtherWork()
    for workload in o.workloads or ROWS:
        times = measure(found, workload, o)
        if "sley" in times and len(times) > 1:
            results[workload] = times
            print_row(workload, times, names)
    others = other_work.percent()
    caption = (f"{machine()}; {o.procs} thread{'s' * (o.procs > 1)}; medians of {o.rounds} in turn; "
               f"other processes had {others:.0f} % of the CPUs")
    print(f"\n{caption}")
    if o.chart and others > QUIET_PERCENT:
        sys.exit(f"no chart: a chart of a machine with other work than this would mislead ({QUIET_PERCENT} % at most)")
    if o.chart:
        with open(o.chart, "w", encoding="utf-8") as file:
            file.write(chart(results, names, caption))


if __name__ == "__main__":
    main()
