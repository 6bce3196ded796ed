#!/usr/bin/env python3
"""The long form of jobs_test.py: 20,000 jobs, six workers on three hosts, which are network namespaces
joined by a bridge. Workers are killed, one stands still past its claim, the servers end and come back
twice each, and one host is cut off for a while. `./dev jobs` runs it; it needs root for the hosts.

usage: jobs_long_test.py PROGRAM [redis|postgres]...
"""
import os
import signal
import subprocess
import sys
import time

from jobs_cluster import DIES_WITH_TEST, SKIPPED, Cluster, Pages, Servers, wait_until
from running import expect

JOBS = 20_000
HOSTS = 3
WORKERS = 6
KILLS = 10
WORK = ["--parallel", "8", "--claim", "2", "--fetch", "2", "--deliveries", "1000"]
HERE = "10.9.0.254"


def run_quietly(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Host:
    """A network namespace with one address, which lives as long as a process that does nothing."""

    def __init__(self, number):
        self.address = f"10.9.0.{number}"
        self.plug = f"plug{number}"  # the end of its cable that is in the bridge
        self._process = subprocess.Popen(
            [*DIES_WITH_TEST, "unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
            stdout=subprocess.PIPE)
        self._process.stdout.readline()
        self.enter = ["nsenter", f"--net=/proc/{self._process.pid}/ns/net"]
        run_quietly("ip", "link", "add", self.plug, "type", "veth", "peer", "name", "cable", "netns",
                    str(self._process.pid))
        run_quietly("ip", "link", "set", self.plug, "master", "bridge", "up")
        run_quietly(*self.enter, "ip", "address", "add", f"{self.address}/24", "dev", "cable")
        run_quietly(*self.enter, "ip", "link", "set", "cable", "up")

    def cut(self):
        run_quietly("ip", "link", "set", self.plug, "down")

    def join(self):
        run_quietly("ip", "link", "set", self.plug, "up")

    def slow_down(self):
        """Whether the kernel can delay and lose packets."""
        return subprocess.run(["tc", "qdisc", "add", "dev", self.plug, "root", "netem", "delay", "2ms",
                               "loss", "0.5%"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def make_hosts():
    run_quietly("ip", "link", "set", "lo", "up")
    run_quietly("ip", "link", "add", "bridge", "type", "bridge")
    run_quietly("ip", "address", "add", f"{HERE}/24", "dev", "bridge")
    run_quietly("ip", "link", "set", "bridge", "up")
    hosts = [Host(number + 1) for number in range(HOSTS)]
    if not all([host.slow_down() for host in hosts]):
        print("without delay and loss: this kernel has no netem", flush=True)
    return hosts


class Run:
    def __init__(self, cluster, hosts):
        self.cluster, self.hosts = cluster, hosts
        self.host_of = {}
        self.begin = time.monotonic()
        self.counts = {}
        for number in range(WORKERS):
            self.start_worker(hosts[number % HOSTS])

    def start_worker(self, host):
        worker = self.cluster.start_worker(*WORK, host=host.enter, watch=f"{host.address}:0")
        self.host_of[worker.name] = host

    def say(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1
        print(f"{time.monotonic() - self.begin:6.1f} s, {len(self.cluster.pages.asked):6} pages: {what}",
              flush=True)

    def wait_for_recorded(self, more):
        """Until so many more jobs are recorded."""
        def recorded():
            return int(self.cluster.servers.select("select count(*) from results")[0][0])
        wanted = recorded() + more
        wait_until(f"{wanted} jobs are recorded", lambda: recorded() >= wanted)

    def kill(self):
        """A worker in the middle of a job."""
        page = self.hold_next()
        name = self.cluster.pages.wait_for(page)
        self.cluster.kill_worker(name)
        self.say("a worker is killed")
        self.start_worker(self.host_of[name])
        self.cluster.pages.release(page)

    def hold_next(self):
        """The page of a job that no worker has taken yet."""
        with self.cluster.pages.changed:
            page = next(page for page in list(self.cluster.wanted.values())[len(self.cluster.pages.asked):]
                        if page not in self.cluster.pages.asked)
            self.cluster.pages.hold(page)
        return page

    def stop(self):
        page = self.hold_next()
        name = self.cluster.pages.wait_for(page)
        worker = self.cluster.workers[name]
        worker.send(signal.SIGSTOP)
        self.cluster.pages.wait_for(page, others_than=[name])
        self.say("a worker has stood still past its claim")
        worker.send(signal.SIGCONT)
        self.cluster.pages.release(page)

    def restart(self, name, server, how):
        server.stop(how)
        self.say(f"{name} has ended")
        server.start()
        self.wait_for_recorded(200)

    def cut_off(self):
        page = self.hold_next()
        name = self.cluster.pages.wait_for(page)
        host = self.host_of[name]
        host.cut()
        self.say("a host is cut off")
        there = [n for n in self.cluster.workers if self.host_of[n] is host]
        self.cluster.pages.wait_for(page, others_than=there)
        self.cluster.pages.release(page)
        self.wait_for_recorded(3000)
        host.join()
        self.say("and is back")
        for n in there:
            self.cluster.workers[n].wait_until_ready()

    def go(self):
        servers = self.cluster.servers
        kill = self.kill
        redis = lambda: self.restart("Redis", servers.redis, signal.SIGKILL)
        postgres = lambda: self.restart("PostgreSQL", servers.postgres, signal.SIGQUIT)
        steps = [kill, kill, redis, kill, postgres, kill, kill, self.stop, kill, self.cut_off, kill, kill,
                 postgres, kill, redis, kill]
        for number, step in enumerate(steps):
            self.cluster.pages.wait_for_number((number + 1) * JOBS // (len(steps) + 2))
            step()
        print(self.cluster.status("--wait", limit_s=600), end="")


def check(program, engine, hosts):
    print(f"--engine {engine}: {JOBS} jobs, {WORKERS} workers on {HOSTS} hosts", flush=True)
    with Servers(HERE) as servers, Cluster(program, engine, servers, Pages(HERE)) as cluster:
        cluster.produce("long", range(1, JOBS + 1))
        run = Run(cluster, hosts)
        run.go()
        said = cluster.end_workers()
        cluster.check_results()
        expect("kills", run.counts["a worker is killed"], KILLS)
        asked = sum(len(workers) for workers in cluster.pages.asked.values())
        print("what the last workers say:", *said, sep="\n  ")
        print(f"{JOBS} jobs are recorded, each once; pages were asked for {asked} times; "
              f"{time.monotonic() - run.begin:.0f} s", flush=True)


def main():
    if os.environ.pop("SLEY_JOBS_NETWORK", None) is None:
        os.environ["SLEY_JOBS_NETWORK"] = "own"
        if os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False).returncode:
            print("skipped: no network namespaces without root")
            sys.exit(SKIPPED)
        os.execvp("unshare", ["unshare", "--net", sys.executable, "-B", *sys.argv])
    hosts = make_hosts()
    for engine in sys.argv[2:] or ["redis", "postgres"]:
        check(sys.argv[1], engine, hosts)


main()
