#!/usr/bin/env python3
"""The supervisor starts again what ends, and ends its programs by a signal, also one that ignores it.

usage: supervisor_test.py PROGRAM
"""
import signal
import subprocess
import sys

from running import LIMIT_S, expect

FAILS, LASTS, STUBBORN = "exit 3", "exec sleep 1000", "trap '' TERM; echo deaf >&2; while :; do sleep 0.1; done"


def main(program):
    supervisor = subprocess.Popen([program, FAILS, LASTS, STUBBORN, "kill -KILL $$"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        expect("the stubborn one runs", supervisor.stderr.readline(), "deaf\n")
        lines = []
        while lines.count(f"[{FAILS}] exit status 3") < 3 or f"[{LASTS}] started" not in lines:
            lines.append(supervisor.stdout.readline().rstrip("\n"))
        supervisor.send_signal(signal.SIGTERM)
        output, _ = supervisor.communicate(timeout=LIMIT_S)
        lines += output.splitlines()
        expect("status", supervisor.returncode, 0)
        expect("starts", lines.count(f"[{FAILS}] started") >= 3, True)
        expect("one that lasts", lines.count(f"[{LASTS}] started"), 1)
        expect("its end", f"[{LASTS}] signal 15" in lines, True)
        expect("the stubborn end", f"[{STUBBORN}] signal 9" in lines, True)
        expect("killed itself", "[kill -KILL $$] signal 9" in lines, True)
        expect("the last line", lines[-1], "all programs have ended")
    finally:
        supervisor.kill()


main(sys.argv[1])
