"""gdb shows the goroutines of a process and of a core, also where the program is stripped.

Skipped where there is no gdb.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

import parked


class Gdb(parked.ReaderTest):
    def gdb(self, target, *commands):
        script = ["-ex", "set width 0", "-ex", f"source {SCRIPT}"]
        for command in commands:
            script += ["-ex", command]
        done = subprocess.run(["gdb", "-nx", "-q", "-batch", *script, *target],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Python Exception", done.stderr)
        return done.stdout

    def check_named(self, target):
        text = self.gdb(target, "info goroutines", "goroutine all bt")
        self.assertRegex(text, r'(?m)^1001 goroutines\n'
                               r' +1000  \[chan receive\] waits_for_work, goroutine \d+ "worker" and others$')
        self.assertEqual(len(re.findall(r"(?m)^#\d+ .*\bwaits_for_work\b", text)), parked.WORKERS)
        header = rf'goroutine (\d+) "worker" \[chan receive\] {re.escape(parked.LABELS)}:\n'
        number, stack = re.search(rf"(?s){header}(.*?)\n\n", text).groups()
        self.assertRegex(stack, r"\A#1 .*")
        self.assertRegex(stack, r"#\d+ .*\bsley_goroutine_start\b.*\Z")
        level = re.search(r"(?m)^#(\d+) .*\bwaits_for_work\b", stack)[1]
        text = self.gdb(target, f"goroutine {number} frame {level}", f"goroutine {number} print $pc",
                        f"goroutine {number} up", "bt 1")
        self.assertRegex(text, r"(?m)^\$1 = .*<waits_for_work\(")
        self.assertRegex(text, rf"(?m)^#{int(level) + 1} ")
        self.assertRegex(text, r"(?m)^#0 ")  # the thread's own, as before

    def check_nameless(self, target, begin):
        text = self.gdb(target, "info goroutines", "goroutine all bt")
        self.assertRegex(text, r"(?m)^1001 goroutines\n +\d+  \[chan receive\] 0x")
        self.assertEqual(self.count_in_function(text, begin), parked.WORKERS)

    def test_process(self):
        with self.running(self.program) as program:
            self.check_named(["-p", str(program.pid)])

    def test_stripped_process(self):
        with self.running(self.stripped) as program:
            self.check_nameless(["-p", str(program.pid)], program.waiting_function)

    def test_core(self):
        core, _ = self.core_of(self.program)
        self.check_named([self.program, core])

    def test_stripped_core(self):
        core, begin = self.core_of(self.stripped)
        self.check_nameless([self.stripped, core], begin)

    def test_goroutine_that_has_a_thread(self):
        with self.running(self.program) as program:
            text = self.gdb(["-p", str(program.pid)], "goroutine 1")
        self.assertRegex(text, r"(?m)^#0 .*\bread\b")
        self.assertRegex(text, r"(?m)^#\d+ .*\bsley_goroutine_start\b")

    def test_thread_in_an_inlined_function(self):
        text = self.gdb([self.program], "tbreak says_where_it_is", "run", "info frame",
                        "info goroutines", "goroutine 500 bt", "bt 1")
        self.assertRegex(text, r"(?m)^ inlined into frame 1$")
        self.assertRegex(text, r"(?m)^ +1000  \[chan receive\] waits_for_work, ")
        stack = re.search(r"(?ms)^#2 .*?\bsley_goroutine_start\b", text)[0]
        self.assertEqual(len(re.findall(r"(?m)^#\d+ .*\bwaits_for_work\b", stack)), 1)
        self.assertRegex(text, r"(?m)^#0 .*\bsays_where_it_is\b")

    def test_program_without_sley(self):
        with subprocess.Popen(["sleep", "1000"]) as other:
            done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", f"source {SCRIPT}",
                                   "-ex", "info goroutines", "-p", str(other.pid)],
                                  capture_output=True, text=True)
            other.kill()
        self.assertIn("There is no sley in this program.\n", done.stderr)

    def test_misuse_is_answered(self):
        for command, answer in (("info goroutines -x", "Usage: info goroutines [-a]"),
                                ("goroutine", "Usage: goroutine N|all [COMMAND]"),
                                ("goroutine 7", "There is no process and no core.")):
            done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-ex", f"source {SCRIPT}",
                                   "-ex", command, self.program], capture_output=True, text=True)
            self.assertIn(answer, done.stderr)


if __name__ == "__main__":
    parked.ReaderTest.program, SCRIPT = map(os.path.abspath, sys.argv[1:3])
    if shutil.which("gdb") is None:
        print("skipped: there is no gdb")
        sys.exit(parked.SKIPPED)
    unittest.main(argv=sys.argv[:1])
