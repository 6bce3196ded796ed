"""lldb shows goroutines as threads, of a process and of a core, also where the program is stripped.

Skipped where there is no lldb.
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

import parked

LLDBS = ("lldb", "lldb-19", "lldb-16", "lldb-14")


class Lldb(parked.ReaderTest):
    def lldb(self, *commands):
        script = []
        for command in commands:
            script += ["-o", command]
        done = subprocess.run([LLDB, "--no-lldbinit", "--batch", *script], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Traceback", done.stdout + done.stderr)
        return done.stdout

    def goroutines(self, *target):
        """What lldb says of them, after the commands by which it gets to the program."""
        text = self.lldb(*target, f"settings set target.process.python-os-plugin-path {SCRIPT}",
                         "thread list", "thread backtrace all")
        threads = re.findall(r"(?m)^[ *]+thread #\d+: tid = \d+, 0x.*, "
                             r"name = 'goroutine \d+ \"worker\"', queue = 'chan receive'", text)
        self.assertEqual(len(threads), parked.WORKERS)
        return text

    def check_named(self, *target):
        text = self.goroutines(*target)
        self.assertEqual(len(re.findall(r"(?m)^ .*frame #\d+: .*`waits_for_work\(.* at parked\.cpp:",
                                        text)), parked.WORKERS)
        stack = re.search(r"(?s)\n[ *]+thread #\d+, name = 'goroutine \d+ \"worker\"'.*?\n(.*?)\n"
                          r"[ *]+thread #", text)[1]
        self.assertRegex(stack, r"`sley_goroutine_start at context\.S:\d+\Z")

    def check_nameless(self, begin, *target):
        self.assertEqual(self.count_in_function(self.goroutines(*target), begin), parked.WORKERS)

    def test_process(self):
        with self.running(self.program) as program:
            self.check_named(f"process attach -p {program.pid}")

    def test_stripped_process(self):
        with self.running(self.stripped) as program:
            self.check_nameless(program.waiting_function, f"process attach -p {program.pid}")

    def test_core(self):
        core, _ = self.core_of(self.program)
        self.check_named(f"target create {self.program} --core {core}")

    def test_stripped_core(self):
        core, begin = self.core_of(self.stripped)
        self.check_nameless(begin, f"target create {self.stripped} --core {core}")


if __name__ == "__main__":
    parked.ReaderTest.program, SCRIPT = map(os.path.abspath, sys.argv[1:3])
    LLDB = next(filter(None, map(shutil.which, LLDBS)), None)
    if LLDB is None:
        print("skipped: there is no lldb")
        sys.exit(parked.SKIPPED)
    unittest.main(argv=sys.argv[:1])
