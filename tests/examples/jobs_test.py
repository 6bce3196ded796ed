#!/usr/bin/env python3
"""Each job is recorded exactly once, whatever happens to workers and servers: workers are killed and
stopped past their claims, servers end and come back, workers are told to end.

usage: jobs_test.py PROGRAM redis|postgres
"""
import signal
import subprocess
import sys

from jobs_cluster import Cluster, Pages, Servers, wait_until
from running import expect

LIMITS = ["--claim", "0.5", "--fetch", "100", "--drain", "100"]
WORK = ["--parallel", "4", "--deliveries", "1000", *LIMITS]
BATCH = range(1, 76)
HELD = 40  # the number of the page of a batch that is held


def killed(cluster):
    """A worker that is killed with a job is replaced, and another takes over the job."""
    page = f"/kill/{HELD}"
    cluster.pages.hold(page)
    cluster.produce("kill", BATCH)
    victim = cluster.pages.wait_for(page)
    cluster.kill_worker(victim)
    cluster.start_worker(*WORK)
    cluster.pages.wait_for(page, others_than=[victim])
    cluster.pages.release(page)


def stopped(cluster):
    """A worker that stands still past its claim goes on with a job that another has taken over."""
    page = f"/stop/{HELD}"
    cluster.pages.hold(page)
    cluster.produce("stop", BATCH)
    victim = cluster.pages.wait_for(page)
    cluster.workers[victim].send(signal.SIGSTOP)
    cluster.pages.wait_for(page, others_than=[victim])
    cluster.workers[victim].send(signal.SIGCONT)
    cluster.pages.release(page)
    wait_until("one of the two comes second",
               lambda: any(w.figure("repeated_total") > 0 for w in cluster.workers.values()))


def without_redis(cluster):
    cluster.servers.redis.stop(signal.SIGKILL)
    for worker in cluster.workers.values():
        worker.wait_until_ready(False)
    producer = cluster.start_producing("redis", BATCH)
    cluster.servers.redis.start()
    cluster.end_producing(producer)
    for worker in cluster.workers.values():
        worker.wait_until_ready()


def without_postgres(cluster):
    """The worker that wants to record a page notices it."""
    page = f"/postgres/{HELD}"
    cluster.pages.hold(page)
    cluster.produce("postgres", BATCH)
    worker = cluster.workers[cluster.pages.wait_for(page)]
    cluster.servers.postgres.stop(signal.SIGQUIT)
    cluster.pages.release(page)
    worker.wait_until_ready(False)
    cluster.servers.postgres.start()
    worker.wait_until_ready()


def told_to_end(cluster):
    """A worker finishes what it has."""
    page = f"/end/{HELD}"
    cluster.pages.hold(page)
    cluster.produce("end", BATCH)
    worker = cluster.workers.pop(cluster.pages.wait_for(page))
    worker.send(signal.SIGTERM)
    worker.wait_until_ready(False)
    cluster.pages.release(page)
    expect("has left", " 0 left, 0 under way" in worker.end(), True)


def told_to_end_soon(cluster):
    """What takes too long is left to other workers."""
    cluster.end_workers()
    page = f"/late/{HELD}"
    cluster.pages.hold(page)
    worker = cluster.start_worker(*WORK, "--drain", "0.2")
    cluster.produce("late", BATCH)
    cluster.pages.wait_for(page)
    del cluster.workers[worker.name]
    worker.send(signal.SIGTERM)
    expect("has left", " 0 left" in worker.end(), False)
    cluster.pages.release(page)
    cluster.start_worker("--deliveries", "2", *LIMITS)


def given_up(cluster):
    """A page that can't be had is a result as well, after the last delivery."""
    with open(f"{cluster.servers.folder}/urls", "w", encoding="utf-8") as file:
        file.write("http://127.0.0.1:1/\n")
    subprocess.run([cluster.program, "produce", file.name, "--batch", "gone", *cluster.common],
                   check=True, stdout=subprocess.DEVNULL)
    expect("status", "1 of them without a page" in cluster.status("--wait"), True)
    expect("result", cluster.servers.select("select status, error <> '' from results "
                                            "where job = 'gone-1'"), [["0", "t"]])


def run(cluster, engine):
    for _ in range(3):
        cluster.start_worker(*WORK)
    killed(cluster)
    stopped(cluster)
    if engine == "redis":
        without_redis(cluster)
    without_postgres(cluster)
    told_to_end(cluster)
    told_to_end_soon(cluster)
    status = cluster.status("--wait")
    expect(status, status.startswith(f"0 jobs to do, {len(cluster.wanted)} recorded\n"), True)
    cluster.check_results()
    given_up(cluster)
    cluster.end_workers()


def main(program, engine):
    with Servers() as servers, Cluster(program, engine, servers, Pages()) as cluster:
        run(cluster, engine)


main(*sys.argv[1:])
