#!/usr/bin/env python3
"""The chat page is served; what one WebSocket sends comes to all, others go on after one is reset, and
a signal closes them.

usage: chat_page_test.py PROGRAM
"""
import base64
import os
import signal
import struct
import sys
import urllib.request

from echo_clients import reset
from running import LIMIT_S, Running, expect


class Visitor:
    """As much of RFC 6455 as short texts need."""

    def __init__(self, server):
        self.socket = server.connect()
        self.stream = self.socket.makefile("rb")
        host = "%s:%d" % server.address
        self.socket.sendall((f"GET /chat HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n"
                             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n")
                            .encode())
        expect("handshake", self.stream.readline(), b"HTTP/1.1 101 Switching Protocols\r\n")
        while self.stream.readline() != b"\r\n":
            pass

    def frame(self, kind, payload):
        mask = os.urandom(4)
        self.socket.sendall(bytes([0x80 | kind, 0x80 | len(payload)]) + mask
                            + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)))

    def say(self, text):
        self.frame(1, text.encode())

    def hear(self):
        """A text, or the code of a close."""
        kind, size = self.stream.read(2)
        payload = self.stream.read(size)
        return payload.decode() if kind == 0x81 else struct.unpack(">H", payload[:2])[0]


def enter(server, text, *others):
    """A visitor that is known to be in the room, because its own text has come back."""
    visitor = Visitor(server)
    visitor.say(text)
    for each in (visitor, *others):
        expect("greeting", each.hear(), text)
    return visitor


def talk(server):
    ann = enter(server, "I am ann")
    bob = enter(server, "I am bob", ann)
    bob.say("gr\u00fc\u00dfe")
    expect("bob's", (ann.hear(), bob.hear()), ("gr\u00fc\u00dfe",) * 2)
    reset(bob.socket)
    cid = enter(server, "I am cid", ann)
    cid.frame(8, struct.pack(">H", 1000))
    expect("cid's close is answered", cid.hear(), 1000)
    ann.say("still here?")
    expect("ann's", ann.hear(), "still here?")
    return ann


def main(program):
    with Running(program, "127.0.0.1:0", end_by=signal.SIGTERM) as server:
        with urllib.request.urlopen("http://%s:%d/" % server.address, timeout=LIMIT_S) as answer:
            expect("page", b"new WebSocket(" in answer.read(), True)
        ann = talk(server)
        server.tell_to_end()
        expect("told to go", ann.hear(), 1001)
        ann.frame(8, struct.pack(">H", 1001))


main(sys.argv[1])
