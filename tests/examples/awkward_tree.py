"""A directory tree of all that makes life hard for a program that reads every file, and a plain
account of what such a program should find in it (or in any other tree).
"""
import os
import random
import socket
import stat
from collections import namedtuple

WHITE_SPACE = b" \t\n\v\f\r"
PRINTABLE = bytes(range(0x21, 0x7f))
# GNU wc 9.1 in the C locale passes over these: they neither begin a word nor end one.
IGNORED = bytes(c for c in range(256) if c not in WHITE_SPACE + PRINTABLE)

Counts = namedtuple("Counts", "lines words bytes")
Account = namedtuple("Account", "total files directories symlinks dangling special sizes")


def count(data):
    return Counts(data.count(b"\n"), len(data.translate(None, IGNORED).split()), len(data))


def account(root):
    """What is in a tree. Goes down by descriptors: paths may be longer than PATH_MAX."""
    total, files, directories, symlinks, dangling, special = [0, 0, 0], 0, 0, 0, 0, 0
    sizes = []
    for path, dirs, others, fd in os.fwalk(root):
        directories += 1
        for name in dirs + others:
            mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
            if stat.S_ISREG(mode):
                with open(name, "rb", opener=lambda n, flags: os.open(n, flags, dir_fd=fd)) as f:
                    counts = count(f.read())
                files += 1
                total = [a + b for a, b in zip(total, counts)]
                sizes.append((counts.bytes, os.path.join(path, name)))
            elif stat.S_ISLNK(mode):
                symlinks += 1
                try:
                    os.stat(name, dir_fd=fd)
                except (FileNotFoundError, NotADirectoryError):
                    dangling += 1
                except OSError:
                    pass
            elif not stat.S_ISDIR(mode):
                special += 1
    return Account(Counts(*total), files, directories, symlinks, dangling, special, sizes)


def write(directory, name, data):
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data)


def build_contents(root, read_size):
    """Files whose bytes are awkward; read_size is where a reader's buffer ends."""
    chance = random.Random(1)
    write(root, b"empty", b"")
    write(root, b"newline", b"\n")
    write(root, b"no-final-newline", b"one two\nthree")
    write(root, b"white-space", WHITE_SPACE * 1000)
    write(root, b"every-byte", bytes(range(256)) * 3)
    write(root, b"nul", b"a\0b \0 c\0")
    write(root, b"latin1", "ça va où\n".encode("latin1"))
    write(root, b"utf8", "ça va\u00a0où \u2003 \u200b\n".encode())
    write(root, b"binary", chance.randbytes(700_001))
    write(root, b"few-kinds", bytes(chance.choices(b"a\x01\x80 \n\xa0\0", k=200_000)))
    write(root, b"huge-line", b"x" * 20_000_000)
    write(root, b"huge-words", b"word " * 1_000_000)
    for where in (-1, 0, 1):  # something of interest around the end of the buffer
        size = read_size + where
        write(root, b"word-%d" % size, b" " * (size - 2) + b"abcd")
        write(root, b"gap-%d" % size, b"a" * size + b" b")
        write(root, b"exact-%d" % size, b"a" * size)
        write(root, b"ignored-%d" % size, b" " * (size - 1) + b"\x80\x80a\x80\x80a")


def build_names(root):
    names = os.path.join(root, b"names")
    os.mkdir(names)
    for name in (b" ", b"with space", b"new\nline", b"tab\tbed", b"\xff\xfe", b"half\xc3", b"\x7f",
                 "caf\u00e9".encode(), "\u0085".encode(), b"back\\slash", b"-j", b"--help", b"*",
                 b"\x1b[31mred", b"n" * 255, b"\xed\xa0\x80", b"..."):
        write(names, name, b"name " + name + b"\n")
        os.mkdir(os.path.join(names, name[:200] + b".d"))
        write(os.path.join(names, name[:200] + b".d"), b"inside", b"in\n")


def build_links(root):
    """Returns the paths of the links that lead into a loop."""
    links = os.path.join(root, b"links")
    os.makedirs(os.path.join(links, b"a", b"b"))
    os.mkdir(os.path.join(links, b"beside"))
    write(links, b"file", b"counted once\n")
    for target, name in ((b"file", b"to-file"), (b"nowhere", b"dangling"), (b"beside", b"to-dir"),
                         (b"../../names", b"a/to-other"), (b"file/x", b"through-file")):
        os.symlink(target, os.path.join(links, name))
    loops = [(b"self", b"self"), (b"second", b"first"), (b"first", b"second"), (b".", b"here"),
             (b"../..", b"a/b/up"), (os.path.join(links, b"a"), b"a/b/absolute"),
             (b"new\nloop", b"new\nloop")]
    for target, name in loops:
        os.symlink(target, os.path.join(links, name))
    return [os.path.join(links, name) for _, name in loops]


def build_special(root):
    folder = os.path.join(root, b"special")
    os.mkdir(folder)
    os.mkfifo(os.path.join(folder, b"fifo"))
    here = os.open(b".", os.O_RDONLY)
    try:
        os.chdir(folder)  # the name of a socket may not be long
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(b"socket")
        listener.close()
    finally:
        os.chdir(here)
        os.close(here)


def build_deep(root, levels, name):
    """A chain of directories with a file in each, down to paths longer than PATH_MAX."""
    fd = os.open(root, os.O_RDONLY)
    for level in range(levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
        file = os.open(b"file", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
        os.write(file, b"level %d\n" % level)
        os.close(file)
        os.symlink(b"..", b"up", dir_fd=fd)
    os.close(fd)


def build_many(root, directories, files):
    for d in range(directories):
        folder = os.path.join(root, b"many-%d" % d)
        os.mkdir(folder)
        for f in range(files):
            write(folder, b"%d" % f, b"file %d of %d\n" % (f, d))


def build(root, read_size):
    """Builds the whole tree; returns the paths of links in loops, but for those in the deep part."""
    build_contents(root, read_size)
    build_names(root)
    loops = build_links(root)
    build_special(root)
    build_deep(root, 120, b"d" * 60)
    build_many(root, 50, 60)
    build_many(os.path.join(root, b"names"), 1, 2000)
    for i in range(500):
        os.makedirs(os.path.join(root, b"hollow", b"%d" % i, b"x"))
    return loops
