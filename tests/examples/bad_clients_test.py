#!/usr/bin/env python3
"""COUNT clients that reset, half-close or do not read; the good clients beside them notice none.

usage: bad_clients_test.py echo|chat PROGRAM COUNT

Every word of a good client comes back, in order. At the end the server has no more descriptors than
before the bad clients came, and few threads.
"""
import collections
import concurrent.futures
import os
import random
import socket
import statistics
import sys
import threading
import time

from echo_clients import reset
from running import LIMIT_S, Running, expect

KEPT_OPEN = 50  # bad clients that stay while others come
MAX_THREADS = 32


class Echo:
    def __init__(self, server):
        self.client = server.connect()

    def speak(self, number):
        word = b"%d\n" % number
        self.client.sendall(word)
        expect("echo", self.client.recv(len(word), socket.MSG_WAITALL), word)


class Chat:
    """Two members; both must hear what the first says. The bad clients' lines are skipped."""

    def __init__(self, server):
        self.speaker, self.listener = server.connect(), server.connect()
        self.lines = [s.makefile("r", newline="\n") for s in (self.speaker, self.listener)]
        self.listener.sendall(b"here\n")
        for line in self.lines[1]:
            if line.endswith(": here\n"):
                break

    def speak(self, number):
        self.speaker.sendall(b"good %d\n" % number)
        for lines in self.lines:
            for line in lines:
                if ": good " in line:
                    break
            expect("chat", line.split(": ")[1], f"good {number}\n")


class BadClients:
    def __init__(self, server):
        self.server = server
        self.random = random.Random(1)
        self.kept = collections.deque()

    def come(self):
        attack = self.random.choice((self.reset_at_once, self.reset_unread, self.half_close,
                                     self.half_close_with_words, self.read_slowly, self.say_nothing))
        try:
            attack()
        except ConnectionError:
            pass  # the server may cut off such a client
        while len(self.kept) > KEPT_OPEN:
            reset(self.kept.popleft())

    def reset_at_once(self):
        reset(self.server.connect())

    def reset_unread(self):
        s = self.server.connect()
        s.sendall(b"bad words\n")
        reset(s)

    def half_close(self):
        self.end_and_read(self.server.connect())

    def half_close_with_words(self):
        s = self.server.connect()
        s.sendall(b"last words without an end of line")
        self.end_and_read(s)

    def end_and_read(self, s):
        with s:
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass

    def read_slowly(self):
        s = self.server.connect()
        self.kept.append(s)
        s.sendall(b"bad words\n")
        s.recv(1)

    def say_nothing(self):
        self.kept.append(self.server.connect())

    def leave(self):
        while self.kept:
            reset(self.kept.popleft())


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def await_descriptors(server, count):
    end = time.monotonic() + LIMIT_S
    while descriptors(server) > count:
        if time.monotonic() > end:
            raise AssertionError(f"{descriptors(server)} descriptors, {count} before the bad clients came")
        time.sleep(0.01)


def speak_until(over, good, waits):
    while not over.is_set():
        begin = time.monotonic()
        good.speak(1 + len(waits))
        waits.append(time.monotonic() - begin)


def bear(server, good, count):
    good.speak(0)
    before = descriptors(server)
    over, waits = threading.Event(), []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        speaking = pool.submit(speak_until, over, good, waits)
        bad = BadClients(server)
        for _ in range(count):
            bad.come()
        most_threads = threads(server)
        bad.leave()
        await_descriptors(server, before)
        over.set()
        speaking.result(LIMIT_S)
    print(f"{count} bad clients; {len(waits)} good words, each back after "
          f"{statistics.median(waits) * 1e3:.2f} ms, at most {max(waits) * 1e3:.0f} ms; "
          f"{most_threads} threads")
    if most_threads > MAX_THREADS:
        sys.exit("too many threads")


kind, program, count = sys.argv[1:]
with Running(program) as server:
    bear(server, {"echo": Echo, "chat": Chat}[kind](server), int(count))
