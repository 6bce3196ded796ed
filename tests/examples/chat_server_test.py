#!/usr/bin/env python3
"""What one client of the chat server writes comes to all, a client that does not read holds up none,
and the server ends with clients there.

usage: chat_server_test.py PROGRAM
"""
import socket
import sys

from echo_clients import reset
from running import Running, expect


class Client:
    def __init__(self, server):
        self.socket = server.connect()
        self.lines = self.socket.makefile("r", newline="\n")

    def say(self, text):
        self.socket.sendall(text.encode() + b"\n")

    def hear(self):
        """The next line; empty at the end, whether the server closed with something unread or not."""
        try:
            return self.lines.readline().rstrip("\n")
        except ConnectionResetError:
            return ""


def enter(server, name, *others):
    """A client that is known to be in the room, because its first line has come back."""
    client = Client(server)
    client.say("hello")
    for each in (client, *others):
        expect("greeting", each.hear(), f"{name}: hello")
    return client


def talk(server):
    ann = enter(server, "guest1")
    bob = enter(server, "guest2", ann)
    ann.say("one")
    ann.say("two\r")
    for client in (ann, bob):
        expect("ann", [client.hear(), client.hear()], ["guest1: one", "guest1: two"])

    reset(bob.socket)
    too_long = enter(server, "guest3", ann)
    too_long.say("x" * 2000)
    expect("a line that is too long", too_long.hear(), "")

    last_words = enter(server, "guest4", ann)
    last_words.say("bye")
    last_words.socket.shutdown(socket.SHUT_WR)
    expect("last words", (ann.hear(), last_words.hear()), ("guest4: bye",) * 2)
    expect("end", last_words.hear(), "")
    return ann


def overwhelm(server, ann):
    """A client that never reads is cut off, and the others get every line."""
    silent = Client(server)
    silent.say("I do not read")
    expect("silent", ann.hear(), "guest5: I do not read")
    text = "x" * 900
    for _ in range(20_000):
        ann.say(text)
        expect("beside a silent client", ann.hear(), f"guest1: {text}")
    try:
        while silent.socket.recv(1 << 20):
            pass
    except ConnectionResetError:
        return
    sys.exit("the silent client was not cut off")


with Running(sys.argv[1]) as chat:
    overwhelm(chat, talk(chat))
