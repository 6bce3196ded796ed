"""sley-inspect shows the goroutines of a process that goes on and of a core, also where the program
is stripped."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import parked

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../profiles"))
import pprof_test  # noqa: E402

LABELS = re.escape(parked.LABELS)


class InspectTest(unittest.TestCase):
    def inspect(self, *arguments, dump=None):
        done = subprocess.run([INSPECT, *map(str, arguments)], input=dump, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, b"")
        return done.stdout

    def text(self, *arguments):
        return self.inspect(*arguments).decode()


class Parked(InspectTest, parked.ReaderTest):
    def check_named_dump(self, dump):
        workers = re.findall(rf'(?m)^goroutine \d+ "worker" \[chan receive\] {LABELS}:\n'
                             r"\twaits for 0x[0-9a-f]+\n"
                             r"waits_for_work\(.*\)\n\t.*parked\.cpp:\d+ \+0x[0-9a-f]+\n", dump)
        self.assertEqual(len(workers), parked.WORKERS)
        # The function that started them is main's lambda.
        self.assertEqual(len(re.findall(r"(?m)^created by .* in goroutine 1$", dump)),
                         parked.WORKERS)

    def check_named(self, target):
        top = self.text(target, "top")
        self.assertRegex(top, r"\A1001 goroutines in \d+ groups\n")
        self.assertRegex(top, r'(?m)^1000 +chan receive +\d+ +waits_for_work\(.*\) "worker" ' + LABELS + "$")
        self.check_named_dump(self.text(target, "dump"))

    def check_nameless(self, target):
        self.assertRegex(self.text(target, "top"), r"(?m)^\d+ +chan receive +\d+ +\?\?")
        dump = self.text(target, "dump")
        headers = re.findall(rf'(?m)^goroutine \d+ "worker" \[chan receive\] {LABELS}:$', dump)
        self.assertEqual(len(headers), parked.WORKERS)
        self.assertNotIn("waits_for_work", dump)
        # The program that was stripped has the same build id.
        self.check_named_dump(self.inspect("symbolize", self.program, dump=dump.encode()).decode())
        # Without it the dump stays as it is.
        self.assertEqual(self.inspect("symbolize", dump=dump.encode()).decode(), dump)

    def test_process(self):
        with self.running(self.program) as program:
            self.check_named(program.pid)

    def test_stripped_process(self):
        with self.running(self.stripped) as program:
            self.check_nameless(program.pid)

    def test_core(self):
        core, _ = self.core_of(self.program)
        self.check_named(core)
        # A core has the registers of its threads.
        main = re.search(r"(?s)\Agoroutine 1 \[running\]:\n(.*?)\n\n", self.text(core, "dump"))[1]
        self.assertRegex(main, r"(?m)^\t.*parked\.cpp:\d+ \+0x[0-9a-f]+$")

    def test_stripped_core(self):
        core, _ = self.core_of(self.stripped)
        self.check_nameless(core)

    def test_core_of_another_file(self):
        other = os.path.join(self.folder, "other")
        subprocess.run(["cp", self.program, other], check=True)
        core, _ = self.core_of(other)
        os.remove(other)
        subprocess.run(["cp", "/bin/true", other], check=True)
        self.check_failure(r"other is not the file that the core is of", core, "dump")

    def test_profile(self):
        pprof = pprof_test.find_pprof()
        if pprof is None:
            self.skipTest("there is no pprof")
        path = os.path.join(self.folder, "goroutines.pb")
        with self.running(self.program) as program, open(path, "wb") as file:
            file.write(self.inspect(program.pid, "profile"))
        for tag in ("tenant=^a$", "name=^worker$"):
            done = subprocess.run([pprof, "-top", "-cum", f"-tagfocus={tag}", path],
                                  capture_output=True, text=True,
                                  env=dict(os.environ, HOME=self.folder, PPROF_TMPDIR=self.folder))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Type: goroutine\n", done.stdout)
            self.assertRegex(done.stdout,
                             r"(?m)^ +\d+ +[\d.]+% +[\d.]+% +1000 +[\d.]+% +waits_for_work\b")

    def check_failure(self, message, *arguments):
        done = subprocess.run([INSPECT, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Asley-inspect: .*{message}")
        self.assertEqual(done.stdout, "")

    def test_failures_are_told(self):
        with subprocess.Popen(["true"]) as ended:
            pass
        self.check_failure(rf"there is no process {ended.pid}$", ended.pid, "top")
        self.check_failure(r"there is no sley in this program$", os.getpid(), "dump")
        self.check_failure(r"is neither a process nor a core$", self.program, "dump")
        self.check_failure(r"is neither a process nor a core$", "/nowhere", "dump")

    @unittest.skipUnless(os.geteuid() == 0, "takes another user")
    def test_process_of_another_user(self):
        with self.running(self.program) as program:
            done = subprocess.run([INSPECT, str(program.pid), "top"], capture_output=True, text=True,
                                  user=65534, group=65534, extra_groups=[])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Asley-inspect: process {program.pid} .*not")

    def test_misuse_is_answered(self):
        for arguments in ([], ["1"], ["1", "fly"], ["1", "top", "top"]):
            done = subprocess.run([INSPECT, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Ausage: ")


def is_asleep_in(pid, call, place, argument):
    """Does a thread of the process sleep in that system call, with that argument at that place?"""
    for path in glob.glob(f"/proc/{pid}/task/*/syscall"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(path, encoding="ascii") as file:
                words = file.read().split()
            if words[0] == call and words[int(place)] == argument:
                return True
    return False


class Blocked(InspectTest):
    """Of blocked.cpp: a stack that is shown is whole, and has no other frame. Goroutines that sleep
    in the kernel have one."""

    ROUNDS = 5
    BLOCKING = {"read": "blocks_in_read", "announced": "blocks_in_announced_read",
                "locked": "blocks_on_locked_thread", "poll": "blocks_in_poll",
                "nanosleep": "blocks_in_nanosleep"}
    ABOVE = ["plain", "with_a_buffer", "with_arguments_on_the_stack", "outermost"]
    OTHERS = ["takes_naps", "leave_rests", "computes"]
    NO_STACK = "\tgoroutine running on other thread; stack unavailable\n"

    @contextlib.contextmanager
    def running(self, *command):
        """Yields the process, or its child that is the program, once the threads sleep."""
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True) as process:
            try:
                calls = [line.split()[1:] for line in iter(process.stdout.readline, "\n")]
                pid = process.pid
                if len(command) > 1:
                    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
                        pid = int(file.read())
                while not all(is_asleep_in(pid, *call) for call in calls):
                    time.sleep(0.001)
                yield pid
                self.assertEqual(process.communicate("\n")[0], "0\n")
            finally:
                process.kill()

    def functions_in(self, stack):
        """The program's own, innermost first."""
        known = "|".join([*self.BLOCKING.values(), *self.ABOVE, *self.OTHERS])
        return re.findall(rf"(?m)^(?:\(anonymous namespace\)::)?({known})(?:\(.*\))?$", stack)

    def check_dump(self, dump):
        goroutines = {name or "main": (state, stack) for name, state, stack in re.findall(
            r'(?s)goroutine \d+(?: "(\w+)")? \[([^]]*)\]:\n(.*?)\n\n', dump + "\n")}
        self.assertEqual(goroutines.keys(), {"main", "naps", "computes", "chooses", *self.BLOCKING}, dump)
        for name, function in self.BLOCKING.items():
            state, stack = goroutines[name]
            self.assertEqual(state, "syscall", dump)
            self.assertEqual(self.functions_in(stack), [function, *self.ABOVE], dump)
        state, stack = goroutines["chooses"]
        self.assertEqual(state, "select", dump)
        self.assertRegex(stack, r"\A\twaits for one of 0x[0-9a-f]+, 0x[0-9a-f]+\n")
        state, stack = goroutines["main"]
        self.assertEqual(state, "syscall", dump)
        self.assertRegex(stack, r"(?m)^\t.*blocked\.cpp:\d+ \+0x[0-9a-f]+$")
        for name, function in {"naps": "takes_naps", "computes": "computes"}.items():
            stack = goroutines[name][1]
            functions = [f for f in self.functions_in(stack) if f != "leave_rests"]
            if self.NO_STACK in stack:
                self.assertEqual(functions, [], dump)
            else:
                self.assertEqual(functions, [function, *self.ABOVE], dump)

    def test_process(self):
        for program in BLOCKED:
            with self.running(program) as pid:
                for _ in range(self.ROUNDS):
                    self.check_dump(self.text(pid, "dump"))

    def test_stripped_process(self):
        for program in BLOCKED:
            with tempfile.TemporaryDirectory() as folder:
                stripped = os.path.join(folder, "stripped")
                subprocess.run(["strip", "-o", stripped, program], check=True)
                with self.running(stripped) as pid:
                    dump = self.inspect(pid, "dump")
                self.check_dump(self.inspect("symbolize", program, dump=dump).decode())

    def test_stopped_process(self):
        for program in BLOCKED:
            with self.running(program) as pid:
                os.kill(pid, signal.SIGSTOP)
                os.waitpid(pid, os.WUNTRACED)
                self.check_dump(self.text(pid, "dump"))
                os.kill(pid, signal.SIGCONT)

    def test_process_in_a_namespace(self):
        unshare = ["unshare", "--pid", "--fork", "--kill-child"]
        if shutil.which("unshare") is None or subprocess.run([*unshare, "true"]).returncode != 0:
            self.skipTest("there are no namespaces")
        with self.running(*unshare, BLOCKED[0]) as pid:
            self.check_dump(self.text(pid, "dump"))


if __name__ == "__main__":
    parked.ReaderTest.program, INSPECT, *BLOCKED = map(os.path.abspath, sys.argv[1:])
    unittest.main(argv=sys.argv[:1])
