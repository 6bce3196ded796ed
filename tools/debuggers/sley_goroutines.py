"""Reads the goroutines of a process or core that a debugger has, without debug information.

Every program and library that contains sley has a section `.sley_layout`, which says where the
records are and what is where in them (src/runtime/state/layout.hpp). The scripts for gdb and lldb
find that section and give a function that reads memory.
"""
import struct
from collections import namedtuple

SECTION = ".sley_layout"
MAGIC = b"sleylout"
VERSION = 4

# The fields of struct layout behind the magic bytes, 64 bits each. tests/debuggers compares them.
FIELDS = """version bytes
    newest_slab newest_machine coarse_s bottom_return
    slab_next slab_goroutines slab_count goroutine_bytes
    goroutine_id goroutine_status goroutine_reason goroutine_needs goroutine_is_foreign
    goroutine_stack_pointer goroutine_frame_pointer goroutine_pc goroutine_stack
    goroutine_waits_for goroutine_parked_s goroutine_extra goroutine_bound_to
    goroutine_created_by goroutine_created_at
    extra_name extra_name_size extra_labels labels_bytes labels_size
    stack_low stack_top
    machine_next machine_goroutine machine_thread_id
    needs_stack needs_machine
    text_bytes status_count wait_count""".split()

Layout = namedtuple("Layout", FIELDS + ["status_texts", "wait_texts"])

# `thread_id` is None if it has no thread. Then, if it has begun, it goes on at `pc` with these
# registers; otherwise `pc` is 0.
Goroutine = namedtuple("Goroutine", "address id name labels state minutes thread_id pc sp fp stack_top "
                                    "created_by created_at")

NOT_ALIVE = ("idle", "dead")


class Unreadable(Exception):
    """No layout, or one of another version."""


def read_layout(read, address):
    head = struct.calcsize(f"<8s{len(FIELDS)}Q")
    magic, version, *_ = struct.unpack("<8s2Q", read(address, 24))
    if magic != MAGIC:
        raise Unreadable(f"there is no layout of sley's at {address:#x}")
    if version != VERSION:
        raise Unreadable(f"this program has version {version} of sley's layout, "
                         f"and these scripts know version {VERSION}")
    values = struct.unpack(f"<8s{len(FIELDS)}Q", read(address, head))[1:]
    numbers = dict(zip(FIELDS, values))

    def texts(at, count):
        size = numbers["text_bytes"]
        data = read(at, count * size)
        return [data[i * size:(i + 1) * size].split(b"\0")[0].decode() for i in range(count)]

    statuses = texts(address + head, numbers["status_count"])
    waits = texts(address + head + numbers["status_count"] * numbers["text_bytes"],
                  numbers["wait_count"])
    return Layout(**numbers, status_texts=statuses, wait_texts=waits)


def shown(name):
    """A name on one line: what is no printable character is escaped."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def title(g):
    return f'goroutine {g.id} "{g.name}"' if g.name else f"goroutine {g.id}"


def header(g):
    """As in a dump of the program's own."""
    minutes = f", {g.minutes} minutes" if g.minutes else ""
    labels = ", ".join(f'{key}: "{value}"' for key, value in g.labels)
    return f"{title(g)} [{g.state}{minutes}]" + (f" {{{labels}}}:" if labels else ":")


class Runtime:
    """One copy of sley in the process."""

    def __init__(self, read, address):
        self.read = read
        self.layout = read_layout(read, address)

    def word(self, address):
        return struct.unpack("<Q", self.read(address, 8))[0]

    def machines(self):
        """The machines that have threads: their addresses, threads' ids and goroutines."""
        l = self.layout
        at = self.word(l.newest_machine)
        while at != 0:
            thread_id, = struct.unpack("<i", self.read(at + l.machine_thread_id, 4))
            if thread_id != 0:
                yield at, thread_id, self.word(at + l.machine_goroutine)
            at = self.word(at + l.machine_next)

    def goroutines(self):
        l = self.layout
        now_s, = struct.unpack("<I", self.read(l.coarse_s, 4))
        machines = list(self.machines())
        thread_of_machine = {machine: thread for machine, thread, _ in machines}
        thread_of_goroutine = {g: thread for _, thread, g in machines if g != 0}
        slab = self.word(l.newest_slab)
        while slab != 0:
            first = slab + l.slab_goroutines
            records = self.read(first, l.slab_count * l.goroutine_bytes)
            for i in range(l.slab_count):
                at = i * l.goroutine_bytes
                g = self._goroutine(first + at, records[at:at + l.goroutine_bytes], now_s,
                                    thread_of_machine, thread_of_goroutine)
                if g is not None:
                    yield g
            slab = self.word(slab + l.slab_next)

    def _goroutine(self, address, record, now_s, thread_of_machine, thread_of_goroutine):
        l = self.layout

        def word(offset):
            return struct.unpack_from("<Q", record, offset)[0]

        status = record[l.goroutine_status]
        status_text = l.status_texts[status] if status < l.status_count else "?"
        if status_text in NOT_ALIVE or record[l.goroutine_is_foreign]:
            return None
        waits = status_text == "waiting"
        state, minutes, thread_id = status_text, 0, None
        needs = record[l.goroutine_needs]
        if needs & l.needs_machine:
            thread_id = thread_of_machine.get(word(l.goroutine_bound_to))
        elif status_text == "running":
            thread_id = thread_of_goroutine.get(address)
        if waits:
            reason = record[l.goroutine_reason]
            state = l.wait_texts[reason] if reason < l.wait_count else state
            parked_s, = struct.unpack_from("<I", record, l.goroutine_parked_s)
            minutes = (now_s - parked_s) % 2**32 // 60
        rests = not needs & (l.needs_stack | l.needs_machine) and status_text != "running"
        stack = word(l.goroutine_stack)
        extra = word(l.goroutine_extra)
        return Goroutine(
            address=address, id=word(l.goroutine_id), name=self._name(extra),
            labels=self._labels(extra), state=state, minutes=minutes, thread_id=thread_id,
            pc=word(l.goroutine_pc) if rests else 0,
            sp=word(l.goroutine_stack_pointer), fp=word(l.goroutine_frame_pointer),
            stack_top=self.word(stack + l.stack_top) if stack != 0 and rests else 0,
            created_by=word(l.goroutine_created_by), created_at=word(l.goroutine_created_at))

    def _name(self, extra):
        if extra == 0:
            return ""
        size = self.read(extra + self.layout.extra_name_size, 1)[0]
        return shown(self.read(extra + self.layout.extra_name, size)) if size else ""

    def _labels(self, extra):
        """Pairs of key and value. In memory each of them stands behind its size in 32 bits."""
        labels = self.word(extra + self.layout.extra_labels) if extra != 0 else 0
        if labels == 0:
            return ()
        size, = struct.unpack("<I", self.read(labels + self.layout.labels_size, 4))
        data = self.read(self.word(labels + self.layout.labels_bytes), size)
        texts = []
        at = 0
        while at < size:
            begin = at + 4
            at = begin + struct.unpack_from("<I", data, at)[0]
            texts.append(shown(data[begin:at]))
        return tuple(zip(texts[::2], texts[1::2]))


# ---- which function a goroutine is in ----

# Where the library's own sources and headers are, and the C++ library's.
GLUE_FILES = ("/include/c++/", "/include/sley/", "/usr/src/sley-")


def is_librarys_own(function, file):
    """Is it a frame of sley's, or of the C++ library's ways to call a function? Such a frame does not
    say what the program does."""
    return (function.startswith(("sley::", "sley_goroutine_"))
            or any(part in file for part in GLUE_FILES))
