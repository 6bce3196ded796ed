"""`go tool pprof` reads the profiles of a program of sley's, from files and over HTTP.

Skipped where there is no pprof: neither SLEY_PPROF names one, nor is it in the PATH, nor among the
tools of a Go in the PATH or of the one that bench/setup_go.sh unpacks.
"""
import contextlib
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

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
    def setUp(self):
        self.exits = contextlib.ExitStack()
        self.addCleanup(self.exits.close)
        self.folder = self.exits.enter_context(tempfile.TemporaryDirectory())
        self.file = os.path.join(self.folder, "goroutine.pb")
        program = subprocess.Popen([PROGRAM, self.file], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.exits.callback(program.__exit__, None, None, None)
        self.exits.callback(program.kill)
        self.pages = f"http://{program.stdout.readline().strip()}/debug/pprof/"

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
        self.assertRegex(self.pprof("-tags", source), r"(?m) 7 .*: chan receive$")

    def test_goroutines_of_a_file(self):
        self.check_goroutines(self.file)
        raw = self.pprof("-raw", self.file)
        self.assertRegex(raw, r"(?m)^ +7: ( *\d+)+ *$", raw)
        mappings = raw[raw.index("\nMappings\n"):]
        self.assertRegex(mappings, r"(?m)^1: 0x[0-9a-f]+/0x[0-9a-f]+/0x[0-9a-f]+ \S*known_program")

    def test_goroutines_over_http(self):
        self.check_goroutines(self.pages + "goroutine")

    def test_threads(self):
        self.assertIn("Type: threadcreate\n", self.pprof("-top", self.pages + "threadcreate"))


if __name__ == "__main__":
    PROGRAM, PPROF = sys.argv.pop(1), find_pprof()
    if PPROF is None:
        print("skipped: there is no built pprof (see the top of this file)")
        sys.exit(SKIPPED)
    unittest.main()
