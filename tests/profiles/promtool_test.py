"""The page of metrics, as Prometheus' own checker reads it: no fault, and nothing that its advice for
names is against.

usage: promtool_test.py PROGRAM
Skipped without promtool.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

SKIPPED = 77
LIMIT_S = 120


class Promtool(unittest.TestCase):
    def metrics(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("goroutine", "cpu")]
            with subprocess.Popen([PROGRAM, *files], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as program:
                address = program.stdout.readline().split()[0]
                page = f"http://{address}/debug/metrics"
                for _ in range(2):  # then there is a request that has been answered
                    with urllib.request.urlopen(page, timeout=LIMIT_S) as answer:
                        text = answer.read()
                program.stdin.close()
                self.assertEqual(program.wait(LIMIT_S), 0)
        return text

    def check(self, text):
        done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True)
        return done.returncode, (done.stdout + done.stderr).decode()

    def test_promtool_has_nothing_to_say(self):
        text = self.metrics()
        for name in (b"sley_goroutines_by_state", b"sley_sched_latency_seconds_bucket",
                     b"sley_http_requests_total", b"process_cpu_seconds_total"):
            self.assertIn(b"\n" + name, text)
        self.assertEqual(self.check(text), (0, ""))

    def test_promtool_would_say_so(self):
        status, _ = self.check(b"# TYPE lone counter\nlone 1\n")
        self.assertNotEqual(status, 0)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop())
    PROMTOOL = shutil.which("promtool")
    if PROMTOOL is None:
        print("skipped: there is no promtool")
        sys.exit(SKIPPED)
    unittest.main()
