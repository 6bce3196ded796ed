#!/usr/bin/env python3
"""The job worker tries again what may help, once what does not, and accounts for every message, also
when a signal ends it.

usage: job_worker_test.py PROGRAM
"""
import collections
import http.server
import re
import signal
import subprocess
import sys
import tempfile
import threading

from running import LIMIT_S, expect


class Receiver(http.server.BaseHTTPRequestHandler):
    """A message is what shall happen to it."""
    protocol_version = "HTTP/1.1"
    tries = collections.Counter()
    silence = threading.Event()

    def do_POST(self):
        message = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.tries[message] += 1
        first = self.tries[message] == 1
        if message == "silent" or message == "late" and first:
            self.silence.wait()
            self.close_connection = True
        elif message == "cut" and first:
            self.close_connection = True
        else:
            status = {"refused": 400, "busy": 503}.get(message, 503 if message == "twice" and first else 200)
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_):
        pass


def start(program, url, *messages):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write("".join(message + "\n" for message in messages))
    return subprocess.Popen([program, url, file.name], stdout=subprocess.PIPE, text=True)


def outcome(worker):
    output, _ = worker.communicate(timeout=LIMIT_S)
    lines = [re.fullmatch(r"(\w+): (\w+) \((\d+) tries\)(.*)", line) for line in output.splitlines()]
    return worker.returncode, {f[2]: (f[1], int(f[3])) for f in lines}, output


def main(program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://%s:%d/" % server.server_address

    plain = {f"plain{i}": ("delivered", 1) for i in range(100)}
    worker = start(program, url, "late", "twice", "refused", *plain, "busy", "cut")
    status, results, output = outcome(worker)
    expect(output, (status, results), (1, {
        "late": ("delivered", 2), "twice": ("delivered", 2), "cut": ("delivered", 2),
        "refused": ("lost", 1), "busy": ("lost", 4), **plain}))
    expect("why", ("answered 400" in output, "answered 503" in output), (True, True))

    worker = start(program, url, *plain)
    status, results, output = outcome(worker)
    expect(output, (status, results), (0, plain))

    worker = start(program, url, "silent", "silent", "silent", "silent", "never")
    while Receiver.tries["silent"] < 4:
        pass
    worker.send_signal(signal.SIGTERM)
    status, results, output = outcome(worker)
    expect(output, (status, results, "canceled" in output),
           (1, {"silent": ("lost", 1), "never": ("lost", 0)}, True))
    Receiver.silence.set()


main(sys.argv[1])
