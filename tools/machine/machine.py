#!/usr/bin/env python3
"""Tests on an emulated machine: Debian's kernel for arm64, with a processor of its own.

    machine.py PACKAGES TESTS [REGEX]

PACKAGES is the folder of packages.sh. TESTS has a line a test, as CMake writes it: a name, seconds, a variable of the environment or nothing, and a program, with | between them. REGEX chooses tests by their names. The machine has no disk: all that it needs is in the file system that its kernel starts with. The names of tests that failed come last, with what they printed before. Status 1: a test failed, or the machine ended before it.
"""
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

MEMORY = 1024  # MiB, and what the file system takes
SLOWER = 4     # than under the emulator of single programs, for which the seconds are


class Archive:
    """The format "newc" of cpio, which Linux unpacks into its first file system."""

    def __init__(self, out):
        self.out, self.number = out, 0
        self.folders = set()

    def entry(self, name, mode, data=b"", device=(0, 0)):
        self.number += 1
        name = name.encode() + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
        self.write(b"070701" + b"".join(b"%08X" % field for field in fields) + name)
        self.write(data)

    def write(self, data):
        self.out.write(data + b"\0" * (-len(data) % 4))

    def folder(self, name):
        """The folder and those that it is in."""
        for path in [*reversed(pathlib.PurePosixPath(name).parents), pathlib.PurePosixPath(name)]:
            if str(path) not in (".", "/") and str(path) not in self.folders:
                self.folders.add(str(path))
                self.entry(str(path), stat.S_IFDIR | 0o755)

    def add(self, path, name):
        """A file or a link of this machine, by its name in the archive."""
        self.folder(str(pathlib.PurePosixPath(name).parent))
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            self.entry(name, mode, os.readlink(path).encode())
        else:
            self.entry(name, mode, path.read_bytes())

    def end(self):
        self.entry("TRAILER!!!", 0)


def read_tests(path, pattern):
    """The lines, each in its four parts."""
    tests = [line.split("|", 3) for line in pathlib.Path(path).read_text().splitlines()]
    return [test for test in tests if re.search(pattern, test[0])]


def make_file_system(path, packages, tests):
    with open(path, "wb") as out:
        archive = Archive(out)
        root = packages / "root"
        for folder, _, files in os.walk(root):
            archive.folder(str(pathlib.Path(folder).relative_to(root)))
            for name in files:
                file = pathlib.Path(folder, name)
                if "share/doc" not in folder and "share/locale" not in folder:
                    archive.add(file, str(file.relative_to(root)))
        for program in sorted({test[-1] for test in tests}):
            archive.add(pathlib.Path(program), program.lstrip("/"))
        archive.add(pathlib.Path(__file__).with_name("init"), "init")
        programs = "".join(f"{name}|{int(seconds) * SLOWER}|{variable}|{program}\n"
                           for name, seconds, variable, program in tests)
        archive.entry("programs", stat.S_IFREG | 0o644, programs.encode())
        archive.folder("dev")
        archive.entry("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
        for name in ("proc", "sys"):
            archive.folder(name)
        archive.end()


def machine(kernel, file_system):
    size = pathlib.Path(file_system).stat().st_size >> 20
    # A signature of pointers that takes the emulator less time.
    return subprocess.Popen(
        ["qemu-system-aarch64", "-machine", "virt", "-cpu", "max,pauth-impdef=on",
         "-smp", "2", "-m", str(MEMORY + 3 * size), "-nodefaults", "-no-reboot", "-display", "none",
         "-serial", "stdio", "-kernel", kernel, "-initrd", file_system,
         "-append", "console=ttyAMA0 quiet loglevel=1 panic=-1"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def watch(output, count):
    """The tests that ended, with their statuses; what the ones that failed printed is shown."""
    ended, name, text, begin = {}, None, [], 0.0
    for raw in output:
        line = raw.decode(errors="replace").rstrip("\r\n")
        if line.startswith("@begin "):
            name, text, begin = line.split(" ", 1)[1], [], time.monotonic()
        elif line.startswith("@end "):
            _, name, status = line.split(" ")
            ended[name] = int(status)
            if ended[name]:
                print(*text, sep="\n")
            result = "Passed" if ended[name] == 0 else f"***Failed ({status})"
            print(f"{len(ended)}/{count} {name} {result} {time.monotonic() - begin:.1f} sec", flush=True)
            name = None
        else:
            text.append(line)
    if len(ended) < count:
        print(*text, sep="\n")
        print(f"the machine ended in {name}" if name else "the machine ended")
    return ended


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    packages = pathlib.Path(sys.argv[1])
    tests = read_tests(sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else "")
    if not tests:
        sys.exit("machine.py: no test has such a name")
    if not shutil.which("qemu-system-aarch64"):
        sys.exit("machine.py: qemu-system-aarch64 is missing (Debian: qemu-system-arm)")
    with tempfile.NamedTemporaryFile() as file_system:
        make_file_system(file_system.name, packages, tests)
        with machine(packages / "kernel", file_system.name) as process:
            ended = watch(process.stdout, len(tests))
    failed = [name for name, *_ in tests if ended.get(name) != 0]
    print(f"{len(tests) - len(failed)} of {len(tests)} tests passed")
    for name in failed:
        print(f"failed: {name}" + ("" if name in ended else " (did not end)"))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
