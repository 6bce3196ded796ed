#!/usr/bin/env python3
"""The adapters of PostgreSQL, Redis and libcurl against real servers: prints two tables.

usage: servers.py [--procs 1] [--rounds 3] [waits | throughput] SLEY_SERVERS

The servers run in a temporary folder, on Unix sockets and one port of the loopback address, and end with
this script. In each round all that is compared runs one after the other; a cell is the median of the
rounds.

waits: many goroutines that wait for answers over few connections, beside a thread for each task and
beside as many threads as connections, which is all that the connections allow. The bound is the time that
the servers make each connection wait. Threads are counted every 20 ms.

throughput: one thread (--procs) beside redis-benchmark and pgbench with as many connections and threads.
The ratio is the median of the rounds' ratios; above 1: sley is faster. CPU us are those of the client for
one request, by rusage.
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(f"{HERE}/../tests/examples")
from jobs_cluster import DIES_WITH_TEST, Servers  # noqa: E402  pylint: disable=wrong-import-position
from peers import OtherWork, machine  # noqa: E402  pylint: disable=wrong-import-position

CLIENTS = 50  # of redis-benchmark
PIPELINED = 16
REDIS_ROUNDS = 1250  # of each client
SQL_CLIENTS = 16  # of pgbench
SQL_ROUNDS = 2000


class Run:
    """A program's output, its CPU time, and its most threads and bytes of resident memory."""

    def __init__(self, command, procs=None):
        environment = dict(os.environ, **({"SLEY_MAXPROCS": str(procs)} if procs else {}))
        self.threads, self.resident, self._is_over = 0, 0, threading.Event()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True)
        counting = threading.Thread(target=self._count, args=[process.pid])
        counting.start()
        self.output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self._is_over.set()
        counting.join()
        if status != 0:
            raise ChildProcessError(f"{command} has failed:\n{self.output}")
        self.cpu_s = usage.ru_utime + usage.ru_stime

    def number(self, pattern):
        return float(re.search(pattern, self.output)[1])

    def _count(self, pid):
        while not self._is_over.wait(0.02):
            try:
                with open(f"/proc/{pid}/status", encoding="ascii") as file:
                    fields = dict(line.split(":", 1) for line in file)
                self.threads = max(self.threads, int(fields["Threads"]))
                self.resident = max(self.resident, int(fields["VmHWM"].split()[0]) * 1024)
            except (OSError, KeyError):  # it has just ended
                return


def median(runs, of):
    return statistics.median(map(of, runs))


# --- waits ---------------------------------------------------------------------------------------

def waits(options, servers, page):
    """Rows: what waits, where, its tasks, rounds and connections, and the bound in seconds."""
    rows = [("PostgreSQL, 15 of 20 `pg_sleep(0.01)`, 5 inserts", "postgres_waits", servers.conninfo, 2000, 20, 100,
             2000 * 15 * 0.01 / 100),
            ("Redis, `BLPOP`", "redis_waits", servers.redis_address, 2000, 20, 500, 2000 * 20 * 0.02 / 500),
            ("libcurl, a page that takes 200 ms", "curl_waits", page, 1000, 10, 1000, 10 * 0.2)]
    print("| | in | s | of the bound | CPU s | threads | resident MB |\n|---|---|---:|---:|---:|---:|---:|")
    for name, workload, server, tasks, rounds, connections, bound in rows:
        each = tasks * rounds // connections
        ways = [(f"{tasks:,} goroutines", workload, tasks, rounds),
                (f"{tasks:,} threads", f"{workload}_in_threads", tasks, rounds),
                (f"{connections} threads", f"{workload}_in_threads", connections, each)][:3 if each != rounds else 2]
        runs = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way in ways:
                _, program, count, times = way
                runs[way].append(Run([options.program, program, server, str(count), str(times), str(connections)]))
        for way, found in runs.items():
            wall = median(found, lambda r: r.number("wall_ms=([0-9.]+)")) / 1000
            print(f"| {name} | {way[0]} | {wall:.2f} | {wall / bound:.2f} | {median(found, lambda r: r.cpu_s):.2f} | "
                  f"{max(r.threads for r in found)} | {median(found, lambda r: r.resident) / 1e6:.0f} |", flush=True)
            name = ""


# --- throughput ----------------------------------------------------------------------------------

def redis_row(options, servers, name):
    requests = CLIENTS * REDIS_ROUNDS * PIPELINED
    ours = [options.program, f"redis_{name}s", servers.redis_address, str(CLIENTS), str(REDIS_ROUNDS), "1"]
    tool = ["redis-benchmark", "-s", servers.redis_address, "-P", str(PIPELINED), "-c", str(CLIENTS), "-n",
            str(requests), "-t", name, "--csv"]
    if options.procs > 1:
        tool += ["--threads", str(options.procs)]
    return (f"Redis, `{name.upper()}`, {PIPELINED} at once, {CLIENTS} connections", "redis-benchmark", ours, tool, requests,
            r'"%s","([0-9.]+)"' % name.upper())


def postgres_row(options, servers, name, workload, *protocol):
    tool = [f"{servers.postgres_programs}/pgbench", "-S", "-n", "-c", str(SQL_CLIENTS), "-j", str(options.procs),
            "-t", str(SQL_ROUNDS), *protocol, servers.conninfo]
    ours = [options.program, workload, servers.conninfo, str(SQL_CLIENTS), str(SQL_ROUNDS), "1"]
    return (f"PostgreSQL, {name}, {SQL_CLIENTS} connections", " ".join(["pgbench -S", *protocol]), ours, tool,
            SQL_CLIENTS * SQL_ROUNDS, r"tps = ([0-9.]+)")


def throughput(options, servers):
    subprocess.run([f"{servers.postgres_programs}/pgbench", "-i", "-q", servers.conninfo], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print("| requests a second | sley | the tool | sley / tool | least to greatest | CPU us, sley | the tool |\n"
          "|---|---:|---:|---:|---|---:|---:|")
    for name, tool_name, ours, tool, requests, pattern in (
            redis_row(options, servers, "get"), redis_row(options, servers, "set"),
            postgres_row(options, servers, "one row by a number in its text", "postgres_selects"),
            postgres_row(options, servers, "one row by a parameter", "postgres_parameters", "-M", "extended")):
        sley, other = [], []
        for _ in range(options.rounds):
            sley.append(Run(ours, options.procs))
            other.append(Run(tool))
        rates = [1e9 / r.number("ns_per_op=([0-9.]+)") for r in sley]
        others = [r.number(pattern) for r in other]
        ratios = [a / b for a, b in zip(rates, others)]
        print(f"| {name}; {tool_name} | {statistics.median(rates):,.0f} | {statistics.median(others):,.0f} | "
              f"{statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} | "
              f"{1e6 * median(sley, lambda r: r.cpu_s) / requests:.2f} | "
              f"{1e6 * median(other, lambda r: r.cpu_s) / requests:.2f} |", flush=True)


# --- the servers ---------------------------------------------------------------------------------

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--procs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("what", nargs="?", choices=["waits", "throughput", "both"], default="both")
    parser.add_argument("program", metavar="SLEY_SERVERS")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    others = OtherWork()
    with Servers() as servers:
        subprocess.run(["redis-cli", "-s", servers.redis_address, "config", "set", "appendonly", "no"], check=True,
                       stdout=subprocess.DEVNULL)
        if options.what != "throughput":
            pages = subprocess.Popen([*DIES_WITH_TEST, options.program, "late_pages"], stdout=subprocess.PIPE, text=True)
            try:
                waits(options, servers, "http://" + pages.stdout.readline().split("addr=")[1].strip() + "/")
            finally:
                pages.kill()
                pages.wait()
            print()
        if options.what != "waits":
            throughput(options, servers)
    print(f"\n{machine()}; medians of {options.rounds}; other processes, the servers among them, had "
          f"{others.percent():.0f} % of the CPUs")


if __name__ == "__main__":
    main()
