#!/usr/bin/env python3
"""wordcount counts what wc counts, whatever stands in the tree.

usage: wordcount_test.py PROGRAM [TEST...]     SLEY_MAXPROCS is the caller's to set
"""
import os
import pty
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

import awkward_tree
from awkward_tree import Counts

PROGRAM = ""
TIMEOUT_S = 120
READ_SIZE = 64 * 1024  # wordcount's buffer
NOBODY = 65534


def run(*arguments, status=0, **more):
    """The finished process, its output as bytes; a failure if it hangs or ends otherwise."""
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    program = more.pop("program", PROGRAM)
    done = subprocess.run([program, *arguments], stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, **more)
    if done.returncode != status:
        raise AssertionError(f"{[program, *arguments]}: status {done.returncode}, "
                             f"not {status}\n{done.stdout}\n{done.stderr}")
    return done


def totals(output):
    found = re.match(rb"(\d+) lines, (\d+) words, (\d+) bytes\n", output)
    return Counts(*map(int, found.groups()))


def figure(output, name):
    return int(re.search(rb"^%s (\d+)\b" % name, output, re.M)[1])


def wc_total(paths):
    """What wc itself finds in at least two files."""
    done = subprocess.run(["wc", "--files0-from=-"], input=b"\0".join(paths), check=True,
                          env=dict(os.environ, LC_ALL="C"), stdout=subprocess.PIPE)
    return Counts(*map(int, done.stdout.splitlines()[-1].split()[:3]))


def wc_counts_words_as_9_1():
    """Other versions of wc take bytes that are not printable for words."""
    done = subprocess.run(["wc", "-w"], input=b"\x01", check=True, stdout=subprocess.PIPE,
                          env=dict(os.environ, LC_ALL="C"))
    return int(done.stdout) == 0


def escaped(path):
    """A path as wordcount prints it."""
    result = ""
    for c in path.decode("utf-8", "surrogateescape"):
        if c in "\\\n":
            result += {"\\": "\\\\", "\n": "\\n"}[c]
        elif 0xdc80 <= ord(c) <= 0xdcff:
            result += f"\\x{ord(c) - 0xdc00:02x}"
        elif ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0:
            result += "".join(f"\\x{b:02x}" for b in c.encode())
        else:
            result += c
    return result.encode()


class TreeTest(unittest.TestCase):
    """On one tree with everything in it."""

    @classmethod
    def setUpClass(cls):
        cls.root = os.fsencode(tempfile.mkdtemp(prefix="sley-wordcount-"))
        cls.loops = awkward_tree.build(cls.root, READ_SIZE)
        cls.account = awkward_tree.account(cls.root)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.root)

    def test_the_account_itself_agrees_with_wc(self):
        paths = [path for _, path in self.account.sizes if len(path) < 4096]
        self.assertLess(len(paths), self.account.files, "no path is longer than PATH_MAX")
        sums = [0, 0, 0]
        for path in paths:
            with open(path, "rb") as file:
                sums = [a + b for a, b in zip(sums, awkward_tree.count(file.read()))]
        expected = wc_total(paths)
        if not wc_counts_words_as_9_1():
            expected = expected._replace(words=sums[1])
        self.assertEqual(Counts(*sums), expected)

    def test_counts_everything_once(self):
        done = run(self.root)
        self.assertEqual(totals(done.stdout), self.account.total)
        for name, value in ((b"files", self.account.files),
                            (b"directories", self.account.directories),
                            (b"symbolic links", self.account.symlinks),
                            (b"special files", self.account.special),
                            (b"unreadable", 0), (b"vanished", 0)):
            self.assertEqual(figure(done.stdout, name), value, name)
        deep_loops = 120  # each of them leads one directory up
        self.assertIn(b"(not followed; %d dangling, %d in loops)"
                      % (self.account.dangling, len(self.loops) + deep_loops), done.stdout)
        self.assertRegex(done.stdout, rb"scheduler: \d+ goroutines on \d+ processors")

    def test_names_the_ten_largest(self):
        largest = sorted(self.account.sizes, key=lambda f: (-f[0], f[1]))[:10]
        listed = re.findall(rb"^ *(\d+)  (.*)$", run(self.root).stdout, re.M)
        self.assertEqual([(int(size), path) for size, path in listed],
                         [(size, escaped(path)) for size, path in largest])

    def test_names_are_escaped(self):
        names = os.path.join(self.root, b"names")
        paths = [os.path.join(names, name) for name in os.listdir(names)]
        for path in filter(os.path.isfile, paths):
            self.assertIn(b"  " + escaped(path) + b"\n", run(path).stdout)

    def test_names_the_loops(self):
        problems = run(self.root).stderr.splitlines()
        for loop in self.loops:
            self.assertIn(b"wordcount: %s: symbolic link into a loop, not followed" % escaped(loop),
                          problems)

    def test_any_limit_gives_the_same_totals(self):
        for limit in ("1", "2", "7", "400"):
            self.assertEqual(totals(run("-j", limit, self.root).stdout), self.account.total, limit)

    def test_never_runs_out_of_descriptors(self):
        done = run(self.root, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                    (64, 64)))
        self.assertEqual(figure(done.stdout, b"unreadable"), 0)
        self.assertEqual(totals(done.stdout), self.account.total)

    def test_quiet_prints_the_totals_alone(self):
        done = run("-q", self.root)
        self.assertEqual(done.stdout, b"%d lines, %d words, %d bytes\n" % self.account.total)
        self.assertEqual(done.stderr, b"")

    def test_the_path_itself_may_be_a_link(self):
        with tempfile.TemporaryDirectory() as other:
            link = os.path.join(os.fsencode(other), b"link")
            os.symlink(self.root, link)
            self.assertEqual(totals(run(link).stdout), self.account.total)
            to_file = os.path.join(os.fsencode(other), b"to-file")
            os.symlink(os.path.join(self.root, b"every-byte"), to_file)
            self.assertEqual(totals(run(to_file).stdout).bytes, 768)

    def test_progress_goes_to_a_terminal_only_and_is_cleared(self):
        self.assertNotIn(b"\r", run(self.root).stderr)
        ours, theirs = pty.openpty()
        seen = bytearray()

        def read_terminal():
            try:
                while chunk := os.read(ours, 4096):
                    seen.extend(chunk)
            except OSError:
                pass  # EIO: the other side is closed

        reader = threading.Thread(target=read_terminal)
        reader.start()
        done = run("-j", "1", self.root, stderr=theirs)
        os.close(theirs)
        reader.join()
        os.close(ours)
        self.assertEqual(totals(done.stdout), self.account.total)
        self.assertNotIn(b"\033", done.stdout)
        last_line = bytes(seen).split(b"\n")[-1].split(b"\033[K")[-1]
        self.assertIn(last_line, (b"", b"\r"))


class ProblemTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sley-wordcount-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.root = os.fsencode(folder.name)

    def test_unreadable_files_and_directories_are_named_and_counted(self):
        tree = os.path.join(self.root, b"tree")
        os.makedirs(os.path.join(tree, b"closed"))
        awkward_tree.write(tree, b"open", b"one\n")
        awkward_tree.write(tree, b"secret\n", b"two\n")
        awkward_tree.write(os.path.join(tree, b"closed"), b"inside", b"three\n")
        os.chmod(os.path.join(tree, b"secret\n"), 0)
        os.chmod(os.path.join(tree, b"closed"), 0)
        program, more = PROGRAM, {}
        if os.geteuid() == 0:  # root may read everything, so another user runs it
            program = shutil.copy(PROGRAM, os.fsdecode(self.root))
            more = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            try:
                run("--help", program=program, **more)
            except (OSError, AssertionError) as e:
                self.skipTest(f"can't run the program as another user: {e}")
        done = run(tree, program=program, **more)
        os.chmod(os.path.join(tree, b"closed"), 0o755)
        self.assertEqual(totals(done.stdout), Counts(1, 1, 4))
        self.assertEqual(figure(done.stdout, b"unreadable"), 2)
        self.assertEqual(sorted(done.stderr.splitlines()),
                         [b"wordcount: %s/closed: Permission denied" % tree,
                          b"wordcount: %s/secret\\n: Permission denied" % tree])

    def test_a_read_error_is_named(self):
        done = run("/proc/self/mem", status=1)
        self.assertIn(b"wordcount: /proc/self/mem: Input/output error", done.stderr)

    def test_a_tree_that_changes_meanwhile_does_no_harm(self):
        awkward_tree.write(self.root, b"steady", b"stays\n" * 1000)
        awkward_tree.build_many(self.root, 20, 20)
        stop = threading.Event()

        def churn(name):
            folder = os.path.join(self.root, name)
            while not stop.is_set():
                os.makedirs(os.path.join(folder, b"sub", b"sub"))
                for i in range(50):
                    awkward_tree.write(os.path.join(folder, b"sub"), b"%d" % i, b"short-lived\n")
                shutil.rmtree(folder)
                os.mkfifo(folder)  # the same name is a fifo, then a link, then a file
                os.unlink(folder)
                os.symlink(self.root, folder)
                os.unlink(folder)
                awkward_tree.write(self.root, name, b"file\n")
                os.unlink(folder)

        churners = [threading.Thread(target=churn, args=(b"churn-%d" % i,)) for i in range(3)]
        for thread in churners:
            thread.start()
        try:
            for _ in range(8):
                done = run("-j", "3", self.root)
                self.assertGreaterEqual(totals(done.stdout).lines, 1000 + 400)
        finally:
            stop.set()
            for thread in churners:
                thread.join()

    def test_the_same_file_may_be_open_for_writing(self):
        path = os.path.join(self.root, b"file")
        with open(path, "wb") as file:
            file.write(b"written\n")
            file.flush()
            self.assertEqual(totals(run(path).stdout), Counts(1, 1, 8))


class CommandLineTest(unittest.TestCase):
    def test_help_says_how_it_ends(self):
        text = run("--help").stdout
        self.assertIn(b"Usage: wordcount", text)
        self.assertIn(b"Exit status: 0", text)
        self.assertEqual(run("-h").stdout, text)

    def test_wrong_arguments_are_refused_with_status_2(self):
        for arguments in (["-j", "0"], ["-j", "-1"], ["-j", "x"], ["-j", ""], ["-j", "3x"], ["-j"],
                          ["--nonsense"], ["-x"], [".", "."], ["-j", "9" * 30],
                          ["-j", "999999999"]):
            done = run(*arguments, status=2)
            self.assertEqual(done.stdout, b"")
            self.assertIn(b"Try 'wordcount --help'.\n", done.stderr, arguments)

    def test_nothing_to_count_is_status_1(self):
        self.assertIn(b"/no/such: No such file or directory", run("/no/such", status=1).stderr)
        self.assertIn(b"neither a directory nor a regular file", run("/dev/null", status=1).stderr)
        self.assertIn(b": No such file or directory", run("", status=1).stderr)

    def test_output_that_cannot_be_written_is_status_1(self):
        with open("/dev/full", "wb") as full:
            done = run("-q", PROGRAM, status=1, stdout=full)
        self.assertIn(b"cannot write to standard output", done.stderr)


class RealTreeTest(unittest.TestCase):
    def test_a_real_tree_agrees_with_find_and_wc(self):
        tree = next(t for t in ("/usr/share/doc", "/usr/include", "/usr/share", "/etc")
                    if os.path.isdir(t) and len(os.listdir(t)) > 50)
        for attempt in range(3):  # something may be installed at the same time
            found = subprocess.run(["find", tree, "-type", "f", "-print0"], check=True,
                                   stdout=subprocess.PIPE).stdout
            expected = wc_total(found.rstrip(b"\0").split(b"\0"))
            counted = totals(run("-q", tree).stdout)
            if not wc_counts_words_as_9_1():
                expected = expected._replace(words=counted.words)
            if counted == expected:
                return
        self.assertEqual(counted, expected, f"{tree}, {attempt + 1} attempts")


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
