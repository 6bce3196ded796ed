"""The library's probes: each is in the program, and bpftrace's scripts see what the program does.

usage: probes_test.py PROGRAM SCRIPTS SOURCES    PROGRAM: of tests/debuggers, 1,000 goroutines wait
Skipped where the library has no probes. What needs bpftrace is skipped where that can't run.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77
LIMIT_S = 120
GOROUTINES = 1000
PROBES = {"spawn", "ready", "run", "park", "preempt", "retake", "block_begin", "block_end"}


def probes_of(program):
    done = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True)
    return set(re.findall(r"Provider: sley\s+Name: (\w+)", done.stdout))


def bpftrace(*arguments):
    """The program gets the line that it waits for."""
    return subprocess.run(["bpftrace", "-c", PROGRAM, *arguments], input="\n", capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)


class Probes(unittest.TestCase):
    def test_all_are_there(self):
        self.assertEqual(probes_of(PROGRAM), PROBES)

    def test_reasons_have_the_librarys_names(self):
        with open(os.path.join(SOURCES, "src/runtime/state/wait_reason.hpp"),
                  encoding="utf-8") as file:
            text = file.read()
        order = re.findall(r"(?m)^  (\w+),$", text)
        names = dict(re.findall(r'case wait::(\w+): return "(.*)";', text))
        with open(os.path.join(SCRIPTS, "waits.bt"), encoding="utf-8") as file:
            script = re.findall(r'@reason\[(\d+)\] = "(.*)";', file.read())
        self.assertEqual(script, [(str(i), names[name]) for i, name in enumerate(order)])


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("bpftrace") is None:
            raise unittest.SkipTest("no bpftrace (Debian's package bpftrace)")
        tried = bpftrace("-e", f"usdt:{PROGRAM}:sley:spawn {{ @n = count(); }}")
        if "@n: " not in tried.stdout:
            raise unittest.SkipTest("bpftrace does not work here: " + tried.stderr[-300:])

    def run_script(self, name):
        done = bpftrace(os.path.join(SCRIPTS, name), PROGRAM)
        self.assertIn("@", done.stdout, done.stderr)
        return done.stdout

    def total(self, histogram):
        return sum(int(n) for n in re.findall(r"(?m)^[\[(].*?\s(\d+) \|", histogram))

    def test_waits(self):
        text = self.run_script("waits.bt")
        received = re.search(r"(?s)@us\[chan receive\]:\s*\n(.*?)(?:\n\n|\Z)", text)
        self.assertIsNotNone(received, text)
        self.assertGreaterEqual(self.total(received[1]), GOROUTINES, text)

    def test_delays(self):
        text = self.run_script("delays.bt")
        self.assertGreaterEqual(self.total(text), 2 * GOROUTINES, text)

    def test_losses(self):
        self.assertIn("@", bpftrace(os.path.join(SCRIPTS, "losses.bt"), PROGRAM).stdout + "@")


if __name__ == "__main__":
    PROGRAM, SCRIPTS, SOURCES = (os.path.abspath(path) for path in sys.argv[1:])
    if not probes_of(PROGRAM):
        print("skipped: the library has no probes (SLEY_PROBES)")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
