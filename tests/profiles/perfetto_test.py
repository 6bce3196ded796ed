"""Perfetto's form of a trace, as protoc reads it by Perfetto's schema: no field is unknown, and all
goroutines of a program whose work is known have a row.

usage: perfetto_test.py PROGRAM
Skipped without protoc.
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

SKIPPED = 77
LIMIT_S = 120


class Perfetto(unittest.TestCase):
    def trace(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("goroutine", "cpu")]
            with subprocess.Popen([PROGRAM, *files], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as program:
                address = program.stdout.readline().split()[0]
                page = f"http://{address}/debug/pprof/trace?seconds=1&format=perfetto"
                with urllib.request.urlopen(page, timeout=LIMIT_S) as answer:
                    trace = gzip.decompress(answer.read())
                program.stdin.close()
                self.assertEqual(program.wait(LIMIT_S), 0)
        return trace

    def test_protoc_knows_all_of_it(self):
        here = os.path.dirname(os.path.abspath(__file__))
        done = subprocess.run(["protoc", "--decode=Trace", f"--proto_path={here}",
                               "perfetto_trace.proto"], input=self.trace(), capture_output=True)
        text = done.stdout.decode()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(text, r"(?m)^\s*\d+[:{ ]", "a field without a name")
        names = re.findall(r'track_descriptor \{\s+uuid: \d+\s+name: "([^"]*)"', text)
        for row in ("processors", "goroutines", "tasks", "P 0"):
            self.assertIn(row, names)
        self.assertTrue(any(re.fullmatch(r"(.*, )?goroutine \d+", name) for name in names), names)
        flows = re.findall(r"(?<!terminating_)flow_ids: (\d+)", text)
        ends = re.findall(r"terminating_flow_ids: (\d+)", text)
        self.assertTrue(ends)
        self.assertEqual(len(set(flows)), len(flows), "each arrow begins once")
        self.assertLessEqual(set(ends), set(flows), "and ends after that")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop())
    if shutil.which("protoc") is None:
        print("skipped: there is no protoc")
        sys.exit(SKIPPED)
    unittest.main()
