"""The program parked.cpp, running or as a core that the kernel has written, whole and stripped."""
import contextlib
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

WORKERS = 1000
LABELS = '{kind: "known", tenant: "a"}'  # of each of these
SUM = WORKERS * (WORKERS - 1) // 2
SKIPPED = 77


def has_cores():
    """Does the kernel write cores into the folder where the program runs?"""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        pattern = file.read().strip()
    return "/" not in pattern and not pattern.startswith("|")


class Program:
    """Started, and with all its goroutines parked."""

    def __init__(self, path, folder):
        self.process = subprocess.Popen(
            [path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (-1, -1)))
        self.waiting_function = int(self.process.stdout.readline(), 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.__exit__(None, None, None)

    @property
    def pid(self):
        return self.process.pid

    def answer(self):
        """Lets it go on, to its end."""
        return int(self.process.communicate("\n")[0])

    def abort(self):
        self.process.send_signal(signal.SIGABRT)
        self.process.wait()


class ReaderTest(unittest.TestCase):
    """A reader's tests, with `program`, the path of parked."""

    program = None

    @classmethod
    def setUpClass(cls):
        exits = contextlib.ExitStack()
        cls.addClassCleanup(exits.close)
        cls.folder = exits.enter_context(tempfile.TemporaryDirectory())
        cls.stripped = os.path.join(cls.folder, "stripped")
        subprocess.run(["strip", "-o", cls.stripped, cls.program], check=True)
        symbols = subprocess.run(["nm", "-SC", cls.program], capture_output=True, text=True,
                                 check=True).stdout
        size = re.search(r"(?m)^\w+ (\w+) T waits_for_work\(", symbols)[1]
        cls.function_size = int(size, 16)

    @contextlib.contextmanager
    def running(self, path):
        with Program(path, self.folder) as program:
            yield program
            self.assertEqual(program.answer(), SUM)

    def core_of(self, path):
        """The path of a core, and the address of the function."""
        if not has_cores():
            self.skipTest("the kernel writes cores elsewhere")
        folder = tempfile.mkdtemp(dir=self.folder)
        self.addCleanup(shutil.rmtree, folder)
        with Program(path, folder) as program:
            program.abort()
        return glob.glob(f"{folder}/core*")[0], program.waiting_function

    def count_in_function(self, text, begin):
        """How many addresses of frames are in the function, in a text that has no names."""
        addresses = (int(a, 16) for a in re.findall(r"(?m)^.*?\b0x([0-9a-f]+)\b", text))
        return sum(begin < a <= begin + self.function_size for a in addresses)
