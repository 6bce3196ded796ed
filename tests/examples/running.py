"""A program that is tested from outside: it runs, says where it listens, and ends by a signal."""
import re
import signal
import socket
import subprocess
import sys
import threading

LIMIT_S = 60


def expect(name, got, wanted):
    if got != wanted:
        sys.exit(f"{name}: {got!r}, expected {wanted!r}")


class Running:
    """A server on a free port: `with Running(PROGRAM) as server`. It must end well by the signal."""

    def __init__(self, program, *arguments, end_by=signal.SIGINT):
        self.end_by = end_by
        self.is_told = False
        self.process = subprocess.Popen([program, *(arguments or ["127.0.0.1:0"])],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.errors = ""
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        line = self.process.stdout.readline()
        found = re.search(r"([\d.]+):(\d+)", line)
        if not found:
            self.process.kill()
            sys.exit(f"{program} does not say where it listens: {line!r}")
        self.address = found[1], int(found[2])

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def tell_to_end(self):
        """Once: the second signal would have its usual meaning."""
        if not self.is_told:
            self.process.send_signal(self.end_by)
        self.is_told = True

    def connect(self):
        return socket.create_connection(self.address, timeout=LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
            return
        try:
            self.tell_to_end()
            self.process.wait(timeout=LIMIT_S)
            self._reader.join(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"{self.process.args} does not end by {self.end_by!r}\n{self.errors}")
        expect(f"status\n{self.errors}", self.process.returncode, 0)
