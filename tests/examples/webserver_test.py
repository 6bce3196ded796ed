#!/usr/bin/env python3
"""The webserver serves files, its API and its figures, ends by SIGINT, and its demo ends by itself.

usage: webserver_test.py PROGRAM
"""
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile

LIMIT_S = 60


def ask(port, method, target, body=None, headers={}):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
    connection.request(method, target, body, headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def expect(name, got, wanted):
    if got != wanted:
        sys.exit(f"{name}: {got!r}, expected {wanted!r}")


def reset_after(port, sent):
    """A client that sends this, reads nothing and resets its connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as client:
        client.sendall(sent)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset_everything(port):
    handshake = (b"GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
    frame = b"\x81\x85\0\0\0\0hello"
    for sent in (b"", b"G", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", handshake, handshake + frame,
                 b"PUT /api/values/a HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc") * 5:
        reset_after(port, sent)


def check_server(program):
    with tempfile.TemporaryDirectory() as root:
        with open(os.path.join(root, "index.html"), "w") as file:
            file.write("<p>index</p>")
        server = subprocess.Popen([program, "--port", "0", "--root", root, "--log"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r":(\d+)/", server.stdout.readline())[1])
            expect("file", ask(port, "GET", "/"), (200, "<p>index</p>"))
            expect("missing", ask(port, "GET", "/none")[0], 404)
            expect("put", ask(port, "PUT", "/api/values/a%20b", 'say "x"')[0], 204)
            expect("too large", ask(port, "PUT", "/api/values/b", "x" * 100_000)[0], 413)
            expect("get", ask(port, "GET", "/api/values/a%20b"), (200, '"say \\"x\\""\n'))
            expect("list", json.loads(ask(port, "GET", "/api/values")[1]), {"a b": 'say "x"'})
            expect("delete", ask(port, "DELETE", "/api/values/a%20b")[0], 204)
            reset_everything(port)
            expect("figures", "\nsley_goroutines " in ask(port, "GET", "/debug/metrics")[1], True)
            symbols = ask(port, "POST", "/debug/pprof/symbol", b"0x1")  # as pprof asks
            expect("symbols", symbols[0], 200)
            for page in ("", "metrics", "goroutines"):
                foreign = ask(port, "GET", "/debug/" + page, headers={"Host": "example.com"})
                expect("foreign host", foreign[0], 403)
            server.send_signal(signal.SIGINT)
            log, _ = server.communicate(timeout=LIMIT_S)
            expect("status", server.returncode, 0)
            expect("log", '"target":"/none","status":404' in log, True)
            expect("draining", "draining" in log, True)
        finally:
            server.kill()


def check_stopped_demo(program):
    """A demo whose server is told to end before the clients are through."""
    demo = subprocess.Popen([program, "--demo", "--seconds", "5", "--port", "0"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for line in demo.stdout:
            if line.startswith("SCHED 1s"):
                break
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=LIMIT_S)
        expect("stopped demo: " + errors[-500:], demo.returncode, 0)
    finally:
        demo.kill()


def check_demo(program):
    done = subprocess.run([program, "--demo", "--seconds", "1"], capture_output=True, text=True,
                          timeout=LIMIT_S)
    expect("demo", done.returncode, 0)
    for pattern in (r"SCHED 1s: procs=\d+ idleprocs=", r"\d+ requests per second; latency us: p50 "):
        if not re.search(pattern, done.stdout):
            sys.exit(f"demo: no {pattern!r} in\n{done.stdout}")


check_server(sys.argv[1])
check_stopped_demo(sys.argv[1])
check_demo(sys.argv[1])
