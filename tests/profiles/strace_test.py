"""Goroutines that sleep in system calls are shown by a program's pages, and no page interrupts one of
these calls or sends a signal to its thread, as strace sees it.

usage: strace_test.py PROGRAM
Skipped without strace, and where that can't trace.

The kernel restarts read and accept after a signal, and the other calls return EINTR. All are asked for
alike: from the moment when the goroutines sleep, strace must have nothing to say of their threads. A
goroutine that computes gets signals, which shows that strace would tell of them.

The page of leaked goroutines is not asked for: it stops the process by ptrace(2), and says that some
calls return EINTR for that. Nor is a goroutine looked at that is about to sleep: it runs until then,
and a signal to it, as at the end of its time slice, may come just before its call.
"""
import concurrent.futures
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
CALLS = ["read", "accept4", "ppoll", "epoll_pwait", "clock_nanosleep"]
SLEEPERS = [f"{how} {call}" for call in CALLS for how in ("announced", "unannounced")]
# Of one second, at the same time. Meanwhile the others are asked for again and again.
LONG_PAGES = [f"pprof/{name}?seconds=1" for name in ("wall", "profile", "trace", "threadblock")]
PAGES = ["", "goroutines", "goroutines.json", "threadblocks.json", "profile", "metrics",
         *(f"pprof/{name}{debug}" for debug in ("", "?debug=1")
           for name in ("goroutine", "threadblock", "block", "mutex", "threadcreate")),
         "pprof/goroutine?debug=2"]


def strace(output, *command):
    return ["strace", "-f", "--seccomp-bpf", "-e", f"trace=write,{','.join(CALLS)}", "-o", output,
            *command]


def is_of_the_end(line):
    """The process's end, which finds a thread in its call or about to go back to that."""
    return re.search(r"resumed>.*= \?$|^\+\+\+ exited with 0 \+\+\+$", line)


class Strace(unittest.TestCase):
    def get(self, page):
        with urllib.request.urlopen(f"http://{self.address}/debug/{page}", timeout=LIMIT_S) as answer:
            return answer.read().decode("utf-8", "replace")

    def ask_for_all_pages(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            long_ones = [pool.submit(self.get, page) for page in LONG_PAGES]
            while True:
                for page in PAGES:
                    self.get(page)
                if all(answer.done() for answer in long_ones):
                    break
            for answer in long_ones:
                answer.result()

    def check_stacks(self):
        text = self.get("goroutines")
        for name in SLEEPERS:
            self.assertRegex(text, rf'(?m)^goroutine \d+ "{name}" \[syscall\]:\n(?:.+\n)*sleeps_in\(')

    def trace_of(self, program):
        """Lines of strace, of threads by the names of their goroutines."""
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "trace")
            with subprocess.Popen(strace(output, program), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as process:
                threads = {}
                for line in process.stdout:
                    thread, name = line.split(maxsplit=1)
                    if thread == "pages":
                        self.address = name.strip()
                        break
                    threads[thread] = name.strip()
                self.check_stacks()
                self.ask_for_all_pages()
                process.stdin.close()
                self.assertEqual(process.wait(LIMIT_S), 0)
            with open(output, encoding="utf-8") as file:
                lines = [line.split(maxsplit=1) for line in file]
        begin = next(i for i, (_, text) in enumerate(lines) if text.startswith("write(1, "))
        self.assertEqual(sorted(threads.values()), sorted([*SLEEPERS, "computes"]))
        return [{name: [text.strip() for number, text in part if number == thread]
                 for thread, name in threads.items()} for part in (lines[:begin], lines[begin:])]

    def test_no_page_interrupts_a_call(self):
        before, after = self.trace_of(PROGRAM)
        for name in SLEEPERS:
            with self.subTest(name):
                self.assertRegex(before[name][-1], rf"^{name.split()[1]}\(.* <unfinished \.\.\.>$")
                said = [line for line in after[name] if not is_of_the_end(line)]
                self.assertEqual(said[:3], [])
        signals = [line for line in after["computes"] if line.startswith("--- SIG")]
        self.assertTrue(any("SIGURG" in line for line in signals), signals)
        self.assertTrue(any("SIGPROF" in line for line in signals), signals)


def cannot_trace():
    """A reason, or nothing."""
    if shutil.which("strace") is None:
        return "no strace (Debian's package strace)"
    tried = subprocess.run(strace(os.devnull, "true"), capture_output=True, text=True, check=False)
    return tried.stderr[-300:] if tried.returncode != 0 else ""


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop())
    if reason := cannot_trace():
        print("skipped:", reason)
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
