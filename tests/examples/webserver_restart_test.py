#!/usr/bin/env python3
"""The webserver is replaced under load, and no request is refused or lost.

usage: webserver_restart_test.py PROGRAM

Clients ask over a new connection each time while SIGUSR2 has one process after another take over.
A process that cannot take over changes nothing. A manager's socket hears which process is the
main one.
"""
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading

from running import LIMIT_S, expect

CLIENTS = 4
RESTARTS = 3


class Clients:
    """They ask until the end, and keep what went wrong."""

    def __init__(self, port):
        self.port = port
        self.is_over = False
        self.lost = []
        self.answers = [0] * CLIENTS
        self._changed = threading.Condition()
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self, i):
        while not self.is_over:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
                connection.request("GET", "/hello", headers={"Connection": "close"})
                answer = connection.getresponse()
                got = answer.status, answer.read()
                connection.close()
                if got != (200, b"hello\n"):
                    self.lost.append(got)
            except OSError as e:
                self.lost.append(e)
            except http.client.HTTPException as e:
                self.lost.append(e)
            with self._changed:
                self.answers[i] += 1
                self._changed.notify_all()

    def wait_for_more(self):
        """Until each of them has asked from the beginning to the end of a request."""
        with self._changed:
            wanted = [n + 2 for n in self.answers]
            if not self._changed.wait_for(
                    lambda: all(n >= w for n, w in zip(self.answers, wanted)), LIMIT_S):
                sys.exit("the clients get no answers")

    def end(self):
        self.is_over = True
        for thread in self._threads:
            thread.join()


class Server:
    """The process that serves at the moment, known by a pidfd: its number may be used again."""

    def __init__(self, line):
        found = re.search(r"http://127\.0\.0\.1:(\d+)/ .* process (\d+)", line)
        if not found:
            sys.exit(f"no process says that it serves: {line!r}")
        self.port, self.pid = int(found[1]), int(found[2])
        self._handle = os.pidfd_open(self.pid)

    def send(self, what):
        signal.pidfd_send_signal(self._handle, what)

    def wait_for_end(self):
        if not select.select([self._handle], [], [], LIMIT_S)[0]:
            sys.exit(f"process {self.pid} does not end")

    def kill(self):
        try:
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        except OSError:
            pass  # it has ended, and this was told


class Manager:
    """What a service manager hears."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind("")  # an abstract name of the kernel's choice
        self._socket.settimeout(LIMIT_S)
        self.name = "@" + self._socket.getsockname()[1:].decode()

    def hears(self, *states):
        """They come in any order: the process that starts and the one that ends both speak."""
        expect("the manager hears", sorted(self._socket.recv(1000).decode() for _ in states),
               sorted(states))

    def hears_some_time(self, state):
        while self._socket.recv(1000).decode() != state:
            pass

    def forget(self):
        """What has come until now."""
        while select.select([self._socket], [], [], 0)[0]:
            self._socket.recv(1000)


def next_server(output, skipping="draining"):
    line = output.readline()
    while line.startswith(skipping):
        line = output.readline()
    return Server(line)


def ask(port, target, headers={}):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    connection.request("GET", target, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def check_restarts(program):
    manager = Manager()
    environment = dict(os.environ, WEBSERVER_LISTEN="127.0.0.1:0", NOTIFY_SOCKET=manager.name)
    first = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
    servers, clients = [], None
    try:
        servers.append(Server(first.stdout.readline()))
        manager.hears("READY=1")
        clients = Clients(servers[0].port)
        for _ in range(RESTARTS):
            clients.wait_for_more()
            servers[-1].send(signal.SIGUSR2)
            servers.append(next_server(first.stdout))
            expect("port", servers[-1].port, servers[0].port)
            if len(servers) == 2:
                first.wait(LIMIT_S)
            servers[-2].wait_for_end()
            manager.hears("READY=1", f"MAINPID={servers[-1].pid}")
        clients.wait_for_more()
        clients.end()
        expect("lost", clients.lost, [])
        expect("ready", ask(servers[0].port, "/readyz"), (200, "ready\n"))
        servers[-1].send(signal.SIGTERM)
        servers[-1].wait_for_end()
        manager.hears("STOPPING=1")
        expect("the first process", first.returncode, 0)
    finally:
        if clients:
            clients.end()
        for server in servers:
            server.kill()
        first.kill()
        first.communicate()


def check_watchdog(program):
    """The one of the first process goes on to the next, whatever WATCHDOG_PID says."""
    manager = Manager()
    environment = dict(os.environ, WEBSERVER_LISTEN="127.0.0.1:0", NOTIFY_SOCKET=manager.name,
                       WATCHDOG_USEC="100000")
    first = subprocess.Popen(["/bin/sh", "-c", 'WATCHDOG_PID=$$ exec "$0"', program],
                             env=environment, stdout=subprocess.PIPE, text=True)
    servers = []
    try:
        servers.append(Server(first.stdout.readline()))
        manager.hears_some_time("WATCHDOG=1")
        servers[0].send(signal.SIGUSR2)
        servers.append(next_server(first.stdout))
        manager.hears_some_time(f"MAINPID={servers[1].pid}")
        servers[0].wait_for_end()
        manager.forget()
        manager.hears_some_time("WATCHDOG=1")
    finally:
        for server in servers:
            server.kill()
        first.kill()
        first.communicate()


def check_failed_restart(program):
    """The program is gone when it is to be started again: the process goes on."""
    environment = dict(os.environ, WEBSERVER_LISTEN="127.0.0.1:0")
    server = subprocess.Popen(["/nonexistent/webserver"], executable=program, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = Server(server.stdout.readline()).port
        server.send_signal(signal.SIGUSR2)
        expect("message", "the new process does not serve" in server.stderr.readline(), True)
        expect("answer", ask(port, "/hello"), (200, "hello\n"))
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=LIMIT_S)
        expect("status", server.returncode, 0)
    finally:
        server.kill()
        server.communicate()


def check_log(program):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    environment = dict(os.environ, WEBSERVER_LISTEN="127.0.0.1:0", WEBSERVER_LOG="1")
    server = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        port = Server(server.stdout.readline()).port
        expect("answer", ask(port, "/hello?%22", {"traceparent": trace})[0], 200)
        server.send_signal(signal.SIGTERM)
        lines, _ = server.communicate(timeout=LIMIT_S)
        record = json.loads(next(line for line in lines.splitlines() if line.startswith("{")))
        expect("target", record["target"], "/hello?%22")
        expect("trace", record["traceparent"][:36], trace[:36])
    finally:
        server.kill()
        server.communicate()


check_restarts(sys.argv[1])
check_watchdog(sys.argv[1])
check_failed_restart(sys.argv[1])
check_log(sys.argv[1])
