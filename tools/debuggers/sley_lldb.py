"""Goroutines in lldb: each goroutine that waits without a thread is a thread for lldb, with its name
and what it waits for, in a process or a core. When lldb has the process or core:

    settings set target.process.python-os-plugin-path /usr/local/share/sley/sley_lldb.py

lldb calls that an operating system's plug-in. It asks for the threads and their registers at each
stop, and nothing is written to the process.
"""
import os
import struct
import sys

import lldb

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sley_goroutines  # noqa: E402

# lldb makes an object for each at each stop. Of more goroutines, those with the smallest ids are shown.
MOST = 10_000

# The registers of a saved context, by the first part of lldb's triple: the name, the number in DWARF
# if it has one, what lldb takes it for. Registers that are not here are unknown.
REGISTERS = {
    "x86_64": (("rsp", 7, "sp"), ("rbp", 6, "fp"), ("rip", 16, "pc")),
    "aarch64": (("sp", 31, "sp"), ("fp", 29, "fp"), ("pc", 32, "pc")),
    "riscv64": (("sp", 2, "sp"), ("fp", 8, "fp"), ("pc", None, "pc")),
}


class Goroutines:
    """The plug-in: lldb knows the names of these methods."""

    def __init__(self, process):
        self.process = process
        self.parked = {}  # by lldb's number of the thread, which is the record's address
        self.is_refused = False  # and it was said

    def read(self, address, size):
        error = lldb.SBError()
        data = self.process.ReadMemory(address, size, error)
        if not error.Success() or len(data) != size:
            raise sley_goroutines.Unreadable(f"memory at {address:#x} can't be read")
        return data

    def layouts(self):
        target = self.process.target
        for module in target.module_iter():
            section = module.FindSection(sley_goroutines.SECTION)
            if section.IsValid():
                address = section.GetLoadAddress(target)
                if address != lldb.LLDB_INVALID_ADDRESS:
                    yield address

    def get_thread_info(self):
        """The threads that lldb does not know by itself."""
        if self.architecture() not in REGISTERS:
            return []
        try:
            found = [g for address in self.layouts()
                     for g in sley_goroutines.Runtime(self.read, address).goroutines()]
        except sley_goroutines.Unreadable as error:
            self.refuse(error)
            return []
        found.sort(key=lambda g: g.id)
        self.parked = {g.address: g for g in found[:MOST] if g.pc != 0}
        return [{"tid": g.address, "name": sley_goroutines.title(g), "queue": g.state,
                 "state": "stopped", "stop_reason": "none"} for g in self.parked.values()]

    def refuse(self, error):
        """Says once that the layout has another version. Memory that can't be read is no news before
        the program has been loaded."""
        if not self.is_refused and "version" in str(error):
            print(f"sley: {error}", file=sys.stderr)
            self.is_refused = True

    def architecture(self):
        return self.process.target.triple.split("-")[0]

    def get_register_info(self):
        """Where in the data of a thread its registers are."""
        registers = []
        for name, number, generic in REGISTERS.get(self.architecture(), ()):
            register = {"name": name, "bitsize": 64, "offset": 8 * len(registers),
                        "encoding": "uint", "format": "hex", "set": 0, "generic": generic}
            if number is not None:
                register |= {"gcc": number, "dwarf": number}
            registers.append(register)
        return {"sets": ["General Purpose Registers"], "registers": registers}

    def get_register_data(self, thread_id):
        g = self.parked[thread_id]
        return struct.pack("<3Q", g.sp, g.fp, g.pc)


# The name that lldb looks for.
OperatingSystemPlugIn = Goroutines
