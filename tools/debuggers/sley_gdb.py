"""Goroutines in gdb: `info goroutines` and `goroutine N COMMAND`, in a process or a core.

Nothing is written to the process. While a command runs on a goroutine that has no thread, the
goroutine's innermost frame is the caller of the one that the selected thread is in: an unwinder says
so, as gdb asks it for each frame's caller.
"""
import contextlib
import os
import re
import sys

import gdb
import gdb.unwinder

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sley_goroutines  # noqa: E402

# The registers of a saved context, by gdb's name of the architecture: stack pointer, frame pointer,
# program counter.
REGISTERS = {
    "i386:x86-64": ("rsp", "rbp", "rip"),
    "aarch64": ("sp", "x29", "pc"),
    "riscv:rv64": ("sp", "fp", "pc"),
}


# ---- the process ----

def read_memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def runtimes():
    """The copies of sley in the process: one, but for plugins that have their own. gdb lists the files
    twice where the process is another program's, gdbserver's for example."""
    sections = gdb.execute("info files", to_string=True)
    pattern = rf"(?m)^\s*0x([0-9a-f]+) - 0x[0-9a-f]+ is {re.escape(sley_goroutines.SECTION)}\b"
    found = {int(address, 16) for address in re.findall(pattern, sections)}
    if not found:
        raise gdb.GdbError("There is no sley in this program.")
    if gdb.selected_thread() is None:
        raise gdb.GdbError("There is no process and no core.")
    try:
        return [sley_goroutines.Runtime(read_memory, address) for address in found]
    except sley_goroutines.Unreadable as error:
        raise gdb.GdbError(f"{error}.") from None


def goroutines():
    found = [g for runtime in runtimes() for g in runtime.goroutines()]
    return sorted(found, key=lambda g: g.id)


def thread_of(g):
    for thread in gdb.selected_inferior().threads():
        if g.thread_id is not None and g.thread_id in thread.ptid[1:]:
            return thread
    return None


# ---- frames of goroutines without a thread ----

class Shown:
    """The goroutine whose frames are behind those that the selected thread has in front, if any: the
    innermost one, and before that the functions that are inlined there."""
    goroutine = None
    thread = None
    in_front = 0

    @classmethod
    def show(cls, goroutine):
        cls.thread = gdb.selected_thread()
        cls.in_front = next(f.level() for f in frames_from(gdb.newest_frame())
                            if f.type() != gdb.INLINE_FRAME) + 1
        cls.goroutine = goroutine
        gdb.invalidate_cached_frames()

    @classmethod
    def end(cls):
        cls.goroutine = None
        gdb.invalidate_cached_frames()


class Unwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__("sley")

    def __call__(self, pending):
        g = Shown.goroutine
        if g is None or pending.level() != Shown.in_front - 1 \
                or gdb.selected_thread().ptid != Shown.thread.ptid:
            return None
        names = REGISTERS.get(pending.architecture().name())
        if names is None:
            return None
        # gdb wants each frame further out than the one before, and the frames of the goroutine end
        # above its stack pointer.
        caller = pending.create_unwind_info(FrameId(gdb.Value(g.sp), gdb.Value(g.pc)))
        for name, value in zip(names, (g.sp, g.fp, g.pc)):
            kind = pending.read_register(name).type
            caller.add_saved_register(name, gdb.Value(value).cast(kind))
        return caller


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class WithoutThreadsFrames:
    """Leaves the thread's frames out of backtraces of a goroutine."""

    def __init__(self):
        self.name = "sley"
        self.priority = 100
        self.enabled = True
        gdb.frame_filters[self.name] = self

    def filter(self, frames):
        if Shown.goroutine is None:
            return frames
        return (f for f in frames if f.inferior_frame().level() >= Shown.in_front)


@contextlib.contextmanager
def selection_kept():
    thread, frame = gdb.selected_thread(), gdb.selected_frame()
    level = frame.level()
    try:
        yield
    finally:
        Shown.end()
        thread.switch()
        select(level)


def select(level):
    frame = gdb.newest_frame()
    while frame.level() < level and frame.older() is not None:
        frame = frame.older()
    frame.select()


@contextlib.contextmanager
def frames_of(g):
    """Its innermost frame is the selected one inside."""
    with selection_kept():
        thread = thread_of(g)
        if thread is not None:
            thread.switch()
            gdb.newest_frame().select()
        else:
            Shown.show(g)
            select(Shown.in_front)
            if gdb.selected_frame().level() < Shown.in_front:
                raise gdb.GdbError(f"No frames of goroutine {g.id} can be found.")
        yield


# ---- where goroutines are ----

class Place:
    """`group` is equal for goroutines at the same place."""

    def __init__(self, text, group):
        self.text = text
        self.group = group


NOWHERE = Place("", "")


class Places:
    """The function that each goroutine is in. gdb takes a millisecond for a stack, so goroutines
    whose stacks have the same return addresses at the same offsets are taken to be alike."""

    LOOKED_AT = 4096  # bytes of a stack

    def __init__(self):
        self.known = {}  # by pc: lists of ([(offset, return address)], place)

    def of(self, g):
        if g.pc == 0:
            return self.look(g)[0] if thread_of(g) is not None else NOWHERE
        stack = b""
        if g.stack_top > g.sp:
            with contextlib.suppress(gdb.MemoryError):
                stack = read_memory(g.sp, min(g.stack_top - g.sp, self.LOOKED_AT))
        for returns, place in self.known.get(g.pc, ()):
            if all(stack[at:at + 8] == address for at, address in returns):
                return place
        place, returns = self.look(g)
        if returns and all(at + 8 <= len(stack) for at, _ in returns):
            self.known.setdefault(g.pc, []).append((returns, place))
        return place

    @staticmethod
    def look(g):
        """The innermost function that is the program's own, or of all if none is known to be; and
        where the return addresses are, on a CPU whose calls push them."""
        try:
            with frames_of(g):
                frames = list(frames_from(gdb.selected_frame()))
                own = next((f.name() for f in frames if is_programs_own(f)), None)
                text = own or frames[0].name() or at_address(frames[0].pc())
                return Place(text, own or tuple(f.pc() for f in frames)), returns_of(frames)
        except gdb.GdbError:
            return NOWHERE, []


def frames_from(frame):
    while frame is not None:
        yield frame
        frame = frame.older()


def returns_of(frames):
    """Offsets from the stack pointer, and what is there."""
    if frames[0].architecture().name() != "i386:x86-64":
        return []
    called = [f for f in frames if f.type() != gdb.INLINE_FRAME]
    sp = [int(f.read_register("rsp")) % 2**64 for f in called]
    return [(sp[i] - 8 - sp[0], called[i].pc().to_bytes(8, "little"))
            for i in range(1, len(called))]


def is_programs_own(frame):
    """An inlined function's name lacks its namespace, so its file says whose it is."""
    symtab = frame.find_sal().symtab
    file = symtab.fullname() if symtab else ""
    return frame.name() is not None and not sley_goroutines.is_librarys_own(frame.name(), file)


def at_address(pc):
    space = gdb.current_progspace()
    return f"{pc:#x} in {space.solib_name(pc) or space.filename}"


# ---- commands ----

class InfoGoroutines(gdb.Command):
    """List the goroutines of a program that uses sley.
Usage: info goroutines [-a]

Goroutines in the same state and the same function are one line: how many there are, the state, the
function, and the first of them. With -a each goroutine has its line. `goroutine N bt` has the stack
of one."""

    def __init__(self):
        super().__init__("info goroutines", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        if argument not in ("", "-a"):
            raise gdb.GdbError("Usage: info goroutines [-a]")
        found = goroutines()
        places = Places()
        if argument == "-a":
            for g in found:
                print(f"  {sley_goroutines.header(g)[:-1]} {places.of(g).text}")
            return
        groups = {}
        for g in found:
            place = places.of(g)
            groups.setdefault((g.state, place.group), (place, []))[1].append(g)
        print(f"{len(found)} goroutines")
        for (state, _), (place, members) in sorted(groups.items(), key=lambda i: -len(i[1][1])):
            first = sley_goroutines.title(members[0])
            print(f"  {len(members):6}  [{state}] {place.text}, {first}"
                  + (" and others" if len(members) > 1 else ""))


class GoroutineCommand(gdb.Command):
    """Run a command of gdb's on a goroutine of a program that uses sley.
Usage: goroutine N|all [COMMAND]

N is the goroutine's number in `info goroutines`, COMMAND is `bt` if it is left out. The command sees
the goroutine's frames as those of a thread: bt, frame 3, up, info locals, print x. The frame that
is selected stays selected for the next command on this goroutine, until the program goes on. Nothing
is written to the program: do not resume it by the command."""

    def __init__(self):
        super().__init__("goroutine", gdb.COMMAND_STACK)
        self.levels = {}  # selected frames of goroutines
        gdb.events.cont.connect(lambda event: self.levels.clear())

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        if which != "all" and not which.isdigit():
            raise gdb.GdbError("Usage: goroutine N|all [COMMAND]")
        chosen = [g for g in goroutines() if which in ("all", str(g.id))]
        if not chosen and which != "all":
            raise gdb.GdbError(f"There is no goroutine {which}.")
        for g in chosen:
            self.run(g, command.strip() or "bt", from_tty, which == "all")

    def run(self, g, command, from_tty, is_one_of_all):
        if is_one_of_all:
            print(sley_goroutines.header(g))
        if g.pc == 0 and thread_of(g) is None:
            text = f"goroutine {g.id} has not begun" if g.state == "runnable" else \
                f"goroutine {g.id} has no frames at the moment"
            if not is_one_of_all:
                raise gdb.GdbError(f"{text[0].upper()}{text[1:]}.")
            print(f"{text}\n")
            return
        with frames_of(g):
            if g.id in self.levels:
                select(self.levels[g.id])
            gdb.execute(command, from_tty)
            self.levels[g.id] = gdb.selected_frame().level()
        if is_one_of_all:
            print()


gdb.unwinder.register_unwinder(None, Unwinder(), replace=True)
WithoutThreadsFrames()
InfoGoroutines()
GoroutineCommand()
