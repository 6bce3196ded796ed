#!/usr/bin/env python3
"""The key/value server speaks RESP: pipelines, parts of commands, binary values, and what is no RESP.

usage: kv_server_test.py PROGRAM
"""
import socket
import sys
import threading

from echo_clients import reset
from running import Running, expect


def command(*words):
    out = b"*%d\r\n" % len(words)
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return out


class Client:
    def __init__(self, server):
        self.socket = server.connect()
        self.stream = self.socket.makefile("rb")

    def answer(self):
        line = self.stream.readline()
        if line.startswith(b"$") and line != b"$-1\r\n":
            return self.stream.read(int(line[1:]) + 2)[:-2]
        return line

    def ask(self, *words):
        self.socket.sendall(command(*words))
        return self.answer()


def commands(client):
    expect("ping", client.ask("PING"), b"+PONG\r\n")
    expect("ping with a text", client.ask("ping", "a b"), b"a b")
    expect("no value", client.ask("GET", "a"), b"$-1\r\n")
    expect("set", client.ask("set", "a", "1"), b"+OK\r\n")
    expect("get", client.ask("get", "a"), b"1")
    expect("incr", [client.ask("INCR", "a"), client.ask("INCR", "new")], [b":2\r\n", b":1\r\n"])
    binary = bytes(range(256)) * 1000
    expect("binary", (client.ask("SET", b"\0\r\n", binary), client.ask("GET", b"\0\r\n")),
           (b"+OK\r\n", binary))
    expect("empty", (client.ask("SET", "", ""), client.ask("GET", "")), (b"+OK\r\n", b""))
    expect("incr of a text", client.ask("INCR", b"\0\r\n")[:5], b"-ERR ")
    client.ask("SET", "most", 2 ** 63 - 1)
    expect("incr of the largest", client.ask("INCR", "most")[:5], b"-ERR ")
    expect("which it leaves", client.ask("GET", "most"), b"%d" % (2 ** 63 - 1))
    expect("del", client.ask("DEL", "a", "new", "none"), b":2\r\n")
    expect("which are gone", client.ask("GET", "a"), b"$-1\r\n")
    expect("command", client.ask("COMMAND", "DOCS"), b"*0\r\n")
    for wrong in (("FLUSHALL",), ("GET",), ("GET", "a", "b"), ("SET", "a"), ("DEL",)):
        expect(str(wrong), client.ask(*wrong)[:5], b"-ERR ")


def pipelines(client):
    count = 20_000
    sent = b"".join(command("SET", f"key:{i}", i) + command("GET", f"key:{i}")
                    for i in range(count))
    threading.Thread(target=client.socket.sendall, args=(sent,), daemon=True).start()
    for i in range(count):
        expect("pipelined", (client.answer(), client.answer()), (b"+OK\r\n", b"%d" % i))
    # An answer does not wait for the rest of the next command.
    client.socket.sendall(command("PING") + command("PING")[:9])
    expect("before half a command", client.answer(), b"+PONG\r\n")
    client.socket.sendall(command("PING")[9:] + b"\r\n")
    expect("the other half", client.answer(), b"+PONG\r\n")
    for byte in command("GET", "key:7"):
        client.socket.sendall(bytes([byte]))
    expect("byte by byte", client.answer(), b"7")


def nonsense(server):
    for sent in (b"GET / HTTP/1.1\r\n", b"*x\r\n", b"*1\r\nPING\r\n", b"*1\r\n$-2\r\n", b"*-1\r\n",
                 b"*1\r\n$99999999999999999999\r\n", b"*99999999\r\n"):
        client = Client(server)
        client.socket.sendall(sent)
        expect(repr(sent), client.answer()[:20], b"-ERR Protocol error:")
        expect("then the end", client.answer(), b"")
    for sent in (b"", b"*", b"*1\r\n$4\r\nPI", command("PING")):
        client = Client(server)
        client.socket.sendall(sent)
        reset(client.socket)
        client = Client(server)
        client.socket.sendall(sent)
        client.socket.shutdown(socket.SHUT_WR)
        client.stream.read()


def many_clients(server):
    def count():
        client = Client(server)
        for _ in range(200):
            client.ask("INCR", "shared")

    threads = [threading.Thread(target=count) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect("counted by all", Client(server).ask("GET", "shared"), b"2000")


with Running(sys.argv[1]) as kv:
    one = Client(kv)
    commands(one)
    pipelines(one)
    nonsense(kv)
    many_clients(kv)
    expect("all the time", one.ask("PING"), b"+PONG\r\n")
