#!/usr/bin/env python3
"""The echo server goes on after clients that reset their connections, and ends with clients there.

usage: echo_server_test.py PROGRAM
"""
import signal
import socket
import sys

import echo_clients
from running import Running, expect


def talk(server):
    with server:
        with server.connect() as steady:
            for attack in echo_clients.ALL * 3:
                attack(server.connect)
                steady.send(b"hello")
                expect(f"after {attack.__name__}", steady.recv(5, socket.MSG_WAITALL), b"hello")
            unread = server.connect()  # the server waits in its write when it is told to end
            echo_clients.fill(unread)
            server.tell_to_end()
            expect("the end of a connection", steady.recv(5), b"")
            unread.close()


for sent in (signal.SIGINT, signal.SIGTERM):
    talk(Running(sys.argv[1], end_by=sent))
