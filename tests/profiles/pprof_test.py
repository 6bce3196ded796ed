"""`go tool pprof` reads the profiles of a program of sley's, from files and over HTTP.

Skipped where there is no pprof: neither SLEY_PPROF names one, nor is it in the PATH, nor among the
tools of a Go in the PATH or of the one that bench/setup_go.sh unpacks.
"""
import contextlib
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

SKIPPED = 77


def of_go(go):
    """Only a built one: newer versions of Go build their tools at their first use, for a minute."""
    tools = subprocess.run([go, "env", "GOTOOLDIR"], capture_output=True, text=True).stdout.strip()
    return os.path.join(tools, "pprof")


def find_pprof():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    gos = [shutil.which("go")] + glob.glob(f"{cache}/go-*/usr/lib/go-*/bin/go")
    candidates = [os.environ.get("SLEY_PPROF"), shutil.which("pprof")]
    candidates += [of_go(go) for go in gos if go]
    return next((c for c in candidates if c and os.access(c, os.X_OK)), None)


class Pprof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        exits = contextlib.ExitStack()
        cls.addClassCleanup(exits.close)
        cls.folder = exits.enter_context(tempfile.TemporaryDirectory())
        cls.file = os.path.join(cls.folder, "goroutine.pb")
        cls.cpu_file = os.path.join(cls.folder, "cpu.pb")
        program = subprocess.Popen([PROGRAM, cls.file, cls.cpu_file], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        exits.callback(program.__exit__, None, None, None)
        exits.callback(program.kill)
        address, cls.seven_ms, cls.three_ms = program.stdout.readline().split()
        cls.pages = f"http://{address}/debug/pprof/"

    def pprof(self, *arguments):
        """What pprof prints; it must not complain."""
        environment = dict(os.environ, HOME=self.folder, PPROF_TMPDIR=self.folder, no_proxy="*")
        done = subprocess.run([PPROF, *arguments], capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr, "(?i)fail|error|malformed")
        return done.stdout

    def check_goroutines(self, source):
        top = self.pprof("-top", "-cum", source)
        self.assertIn("Type: goroutine\n", top)
        self.assertRegex(top, r"(?m)^ +\d+ +[\d.]+% +[\d.]+% +7 +[\d.]+% +waits_for_work\b", top)
        tagged = self.pprof("-top", "-cum", "-tagfocus=name=^known$", source)
        self.assertRegex(tagged, r"(?m) 7 +[\d.]+% +waits_for_work\b", tagged)
        self.assertRegex(self.pprof("-tags", source), r"(?m) 7(\.0)? .*: chan receive$")

    def test_goroutines_of_a_file(self):
        self.check_goroutines(self.file)
        raw = self.pprof("-raw", self.file)
        self.assertRegex(raw, r"(?m)^ +7: ( *\d+)+ *$", raw)
        mappings = raw[raw.index("\nMappings\n"):]
        self.assertRegex(mappings, r"(?m)^1: 0x[0-9a-f]+/0x[0-9a-f]+/0x[0-9a-f]+ \S*known_program")

    def test_goroutines_over_http(self):
        self.check_goroutines(self.pages + "goroutine")

    def test_texts_over_http(self):
        raw = self.pprof("-raw", self.pages + "goroutine?debug=1")
        self.assertRegex(raw, r"(?m)^ +7: ( *\d+)+ *$", raw)
        raw = self.pprof("-raw", self.pages + "threadcreate?debug=1")
        self.assertIn("\nSamples:\nthreadcreate/count\n", raw)

    def test_shares_of_cpu_time(self):
        raw = self.pprof("-raw", self.cpu_file)
        self.assertIn("\nSamples:\nsamples/count cpu/nanoseconds\n", raw)
        self.assertIn("\nPeriod: 10000000\n", raw)
        used = {"burns_seven_parts": self.seven_ms, "burns_three_parts": self.three_ms}
        for function, ms in used.items():
            samples = int(ms) / 10
            top = self.pprof("-top", "-cum", "-sample_index=samples", self.cpu_file)
            count = re.search(rf"(?m) (\d+) +[\d.]+% +{function}\b", top)
            self.assertIsNotNone(count, top)
            self.assertAlmostEqual(int(count[1]), samples, delta=samples / 10, msg=top)

    def test_cpu_time_over_http(self):
        self.assertIn("Type: cpu\n", self.pprof("-top", self.pages + "profile?seconds=1"))

    def test_wall_clock_time_over_http(self):
        """Seven goroutines wait for work while the main goroutine sleeps in a read."""
        with urllib.request.urlopen(self.pages + "wall?seconds=2") as answer:
            file = os.path.join(self.folder, "wall.pb.gz")
            pathlib.Path(file).write_bytes(answer.read())
        top = self.pprof("-top", "-cum", "-unit=ms", file)
        self.assertIn("Type: wall\n", top)
        ms = {}
        for state, function in (("chan receive", "waits_for_work"), ("syscall", "main::")):
            top = self.pprof("-top", "-cum", "-unit=ms", f"-tagfocus=state=^{state}$", file)
            found = re.search(rf"(?m) ([\d.]+)ms +[\d.]+% +{function}", top)
            self.assertIsNotNone(found, top)
            ms[state] = float(found[1])
        self.assertAlmostEqual(ms["chan receive"], 7 * ms["syscall"], delta=0.7 * ms["syscall"])

    def check_waits(self, page, name, function):
        """One wait of at least 5 ms."""
        for source in (page, page + "?debug=1"):
            top = self.pprof("-top", "-cum", "-unit=ms", "-sample_index=delay", self.pages + source)
            delay = re.search(rf"(?m) ([\d.]+)ms +[\d.]+% +{function}\b", top)
            self.assertIsNotNone(delay, top)
            self.assertGreaterEqual(float(delay[1]), 5, top)
            top = self.pprof("-top", "-cum", "-sample_index=contentions", self.pages + source)
            self.assertRegex(top, rf"(?m) 1 +[\d.]+% +{function}\b", top)
        self.assertIn(f"Type: {name}\n", self.pprof("-top", self.pages + page))

    def test_waits(self):
        self.check_waits("block", "delay", "waits_for_the_mutex")

    def test_holders_of_locks(self):
        self.check_waits("mutex", "delay", "holds_the_mutex")

    def test_thread_blocks(self):
        page = self.pages + "threadblock"
        top = self.pprof("-top", "-cum", "-unit=ms", page)
        self.assertIn("Type: delay\n", top)
        delay = re.search(r"(?m) ([\d.]+)ms +[\d.]+% +blocks_its_thread\b", top)
        self.assertIsNotNone(delay, top)
        self.assertGreaterEqual(float(delay[1]), 5, top)
        for source in (page, page + "?debug=1"):
            top = self.pprof("-top", "-cum", "-sample_index=0", source)
            self.assertRegex(top, r"(?m) 1 +[\d.]+% +blocks_its_thread\b", top)
        self.assertRegex(self.pprof("-tags", "-sample_index=blocks", page), r"(?m) 1(\.0)? .*: read$")

    def test_threads(self):
        self.assertIn("Type: threadcreate\n", self.pprof("-top", self.pages + "threadcreate"))


if __name__ == "__main__":
    PROGRAM, PPROF = sys.argv.pop(1), find_pprof()
    if PPROF is None:
        print("skipped: there is no built pprof (see the top of this file)")
        sys.exit(SKIPPED)
    unittest.main()
