#!/usr/bin/env python3
"""What the gzip pipeline writes is the input again when it is unpacked, for all sizes around a block,
and errors of either file are reported.

usage: gzip_pipeline_test.py PROGRAM
"""
import gzip
import os
import random
import subprocess
import sys
import tempfile

from running import LIMIT_S, expect

BLOCK = 256 << 10


def run(program, *arguments, **more):
    return subprocess.run([program, *arguments], capture_output=True, timeout=LIMIT_S, **more)


def check_content(program, folder):
    chance = random.Random(1)
    packed, plain = os.path.join(folder, "packed"), os.path.join(folder, "plain")
    for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 40 * BLOCK + 7):
        content = chance.randbytes(size // 2) + b"abc" * (size // 6 + 1)
        content = content[:size]
        with open(plain, "wb") as file:
            file.write(content)
        expect(f"{size} bytes", run(program, plain, packed).returncode, 0)
        with open(packed, "rb") as file:
            expect(f"{size} bytes unpacked", gzip.decompress(file.read()) == content, True)
    through = run(program, "/dev/stdin", "/dev/stdout", input=content)
    expect("through pipes", gzip.decompress(through.stdout) == content, True)


def check_errors(program, folder):
    for arguments, named in ((("/none", "/dev/null"), "/none"), ((folder, "/dev/null"), "directory"),
                             (("/dev/zero", "/dev/full"), "No space"), (("/dev/null", "/none/x"), "/none/x")):
        done = run(program, *arguments)
        expect(f"{arguments}: {done.stderr}", (done.returncode, named.encode() in done.stderr), (1, True))
    expect("usage", run(program).returncode, 2)


with tempfile.TemporaryDirectory() as directory:
    check_content(sys.argv[1], directory)
    check_errors(sys.argv[1], directory)
