"""Clients of an echo server that end in every state. Each is given a function that connects."""
import socket
import struct
import sys


def reset(connection):
    """Ends a connection so that the other side sees an error and no end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def reset_at_once(connect):
    reset(connect())


def reset_after_a_byte(connect):
    s = connect()
    s.send(b"x")
    reset(s)


def reset_unread(connect):
    """While the server writes what the client does not read."""
    s = connect()
    fill(s)
    reset(s)


def half_closed(connect):
    with connect() as s:
        s.send(b"abc")
        s.shutdown(socket.SHUT_WR)
        got = b""
        while piece := s.recv(16):
            got += piece
        if got != b"abc":
            sys.exit(f"half closed: {got!r}")


ALL = (reset_after_a_byte, reset_at_once, reset_unread, half_closed)


def fill(connection):
    """Sends, and reads nothing, until the server waits in its write."""
    connection.settimeout(0.3)
    try:
        while True:
            connection.send(b"x" * 65536)
    except TimeoutError:
        pass
