#!/usr/bin/env python3
"""The echo server goes on after clients that reset their connections, and ends with clients there.

usage: echo_server_test.py PROGRAM
"""
import signal
import socket
import sys

from running import Running, expect, reset


def reset_at_once(server):
    reset(server.connect())


def reset_after_a_byte(server):
    s = server.connect()
    s.send(b"x")
    reset(s)


def reset_unread(server):
    """While the server writes what the client does not read."""
    s = server.connect()
    s.settimeout(0.3)
    try:
        while True:
            s.send(b"x" * 65536)
    except TimeoutError:
        reset(s)


def half_closed(server):
    with server.connect() as s:
        s.send(b"abc")
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(16):
            got += piece
        expect("half closed", got, b"abc")


def talk(server):
    with server:
        with server.connect() as steady:
            for attack in (reset_at_once, reset_after_a_byte, reset_unread, half_closed) * 3:
                attack(server)
                steady.send(b"hello")
                expect(f"after {attack.__name__}", steady.recv(5, socket.MSG_WAITALL), b"hello")
            unread = server.connect()  # the server waits in its write when it is told to end
            unread.settimeout(0.3)
            try:
                while True:
                    unread.send(b"x" * 65536)
            except TimeoutError:
                pass
            server.tell_to_end()
            expect("the end of a connection", steady.recv(5), b"")
            unread.close()


for sent in (signal.SIGINT, signal.SIGTERM):
    talk(Running(sys.argv[1], end_by=sent))
