#!/usr/bin/env python3
"""What an idle connection holds in a server: prints a table with one row for each kind and program.

usage: idle_connections.py [--http 15000] [--websockets 10000] [--later 20] NAME=PROGRAM ...

PROGRAM is http_hello or its twin in go/httphello. It is started with -addr. This script opens the
connections; each sends one request, reads the answer and stays. The server's VmRSS and VmPTE (page tables)
are read before the first, after the last and --later seconds after that. The kernel's socket buffers are
not counted. Needs as many descriptors as connections and a few more. Standard library only.
"""
import argparse
import re
import resource
import signal
import socket
import subprocess
import time

HTTP = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
WEBSOCKET = (b"GET /websocket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
ADDRESSES = 250  # of clients, 127.0.1.1 and on: each has ports of its own
WARM = 100


class Server:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "-addr", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.search(r"addr=127\.0\.0\.1:(\d+)", line)[1])

    def memory(self):
        """(resident bytes, bytes of page tables, threads)"""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        number = {key: int(fields[key].split()[0]) for key in ("VmRSS", "VmPTE", "Threads")}
        return number["VmRSS"] * 1024, number["VmPTE"] * 1024, number["Threads"]

    def connect(self, count, request, ending):
        return [self.ask(f"127.0.1.{1 + i % ADDRESSES}", request, ending) for i in range(count)]

    def ask(self, source, request, ending):
        s = socket.socket()
        s.bind((source, 0))
        s.connect(("127.0.0.1", self.port))
        s.sendall(request)
        answer = b""
        while not answer.endswith(ending):
            piece = s.recv(4096)
            assert piece, f"the server closed after {answer!r}"
            answer += piece
        return s

    def stop(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def measure(program, count, request, ending, later):
    server = Server(program)
    try:
        for s in server.connect(WARM, HTTP, b"World!"):
            s.close()
        before = server.memory()
        connections = server.connect(count, request, ending)
        at_once = server.memory()
        time.sleep(later)
        after = server.memory()
        for s in connections:
            s.close()
        return [((m[0] - before[0]) / count, (m[1] - before[1]) / count) for m in (at_once, after)] + [after[2]]
    finally:
        server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--http", type=int, default=15_000)
    parser.add_argument("--websockets", type=int, default=10_000)
    parser.add_argument("--later", type=float, default=20)
    parser.add_argument("programs", nargs="+", metavar="NAME=PROGRAM")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    print(f"| bytes of each | program | resident | page tables | {options.later:.0f} s later | page tables | threads |\n"
          "|---|---|---:|---:|---:|---:|---:|")
    for kind, count, request, ending in (("idle keep-alive connection", options.http, HTTP, b"World!"),
                                         ("WebSocket", options.websockets, WEBSOCKET, b"\r\n\r\n")):
        for name, program in (p.split("=", 1) for p in options.programs):
            (rss, tables), (rss_later, tables_later), threads = measure(program, count, request, ending, options.later)
            print(f"| {kind}, {count:,} | {name} | {rss:,.0f} | {tables:,.0f} | {rss_later:,.0f} | {tables_later:,.0f} | "
                  f"{threads} |", flush=True)


if __name__ == "__main__":
    main()
