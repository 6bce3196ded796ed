#!/usr/bin/env python3
"""The echo server goes on after clients that reset their connections, in every state.

usage: echo_test.py PROGRAM
"""
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../examples"))
import echo_clients  # noqa: E402

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


def main(program):
    address = free_address()
    server = subprocess.Popen([program], env={**os.environ, "ECHO_ADDRESS": "%s:%d" % address})
    try:
        steady = connected(address)
        for attack in echo_clients.ALL * 5:
            attack(lambda: connected(address))
            steady.send(b"hello")
            got = steady.recv(5, socket.MSG_WAITALL)
            if got != b"hello" or server.poll() is not None:
                sys.exit(f"after {attack.__name__}: {got!r}, status {server.poll()}")
    finally:
        server.kill()


main(sys.argv[1])
