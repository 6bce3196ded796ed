#!/usr/bin/env python3
"""The echo server goes on after clients that reset their connections, in every state.

usage: echo_test.py PROGRAM
"""
import os
import socket
import struct
import subprocess
import sys
import time

LIMIT_S = 20


def free_address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()


def connected(address):
    """A connection, as soon as the server listens."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            return socket.create_connection(address, timeout=LIMIT_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                sys.exit("the server does not listen")


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def reset_after_a_byte(address):
    s = connected(address)
    s.send(b"x")
    reset(s)


def reset_at_once(address):
    reset(connected(address))


def reset_unread(address):
    """While the server writes what the client does not read."""
    s = connected(address)
    s.settimeout(0.3)
    try:
        while True:
            s.send(b"x" * 65536)
    except TimeoutError:
        reset(s)


def half_closed(address):
    s = connected(address)
    s.send(b"abc")
    s.shutdown(socket.SHUT_WR)
    got = b""
    while piece := s.recv(16):
        got += piece
    s.close()
    if got != b"abc":
        sys.exit(f"half closed: {got!r}")


def main(program):
    address = free_address()
    server = subprocess.Popen([program], env={**os.environ, "ECHO_ADDRESS": "%s:%d" % address})
    try:
        steady = connected(address)
        for attack in (reset_after_a_byte, reset_at_once, reset_unread, half_closed) * 5:
            attack(address)
            steady.send(b"hello")
            got = steady.recv(5, socket.MSG_WAITALL)
            if got != b"hello" or server.poll() is not None:
                sys.exit(f"after {attack.__name__}: {got!r}, status {server.poll()}")
    finally:
        server.kill()


main(sys.argv[1])
