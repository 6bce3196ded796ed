#!/usr/bin/env python3
"""A call upwards between two rooms of src/runtime does not link.

usage: arrows_test.py UPWARDS.o OBJECTS LIBRARIES LINK...     lists are separated by commas

LINK is the compiler, with the flags that it needs to link for the machine that is built for.

Links the file of this folder as a file of the room `state`: without the room `queue`, which must
fail and name the function, and with it.
"""
import os
import re
import subprocess
import sys
import tempfile


def link(command, objects, libraries):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "-shared", "-o", os.path.join(folder, "out.so"), "-Wl,-z,defs", *objects,
             *libraries, "-pthread"], capture_output=True, text=True)
    return done.returncode, done.stderr


def of_rooms(objects, rooms):
    pattern = re.compile(r"/runtime/(%s)/|/unity_(%s)_" % (rooms, rooms))
    return [o for o in objects if pattern.search(o)]


def main():
    upwards, objects, libraries, *command = sys.argv[1:]
    objects, libraries = objects.split(","), libraries.split(",")
    status, text = link(command, [upwards, *of_rooms(objects, "state")], libraries)
    if status == 0 or "wake_p" not in text:
        sys.exit(f"a call upwards links, or fails otherwise:\n{text}")
    status, text = link(command, [upwards, *of_rooms(objects, "state|queue")], libraries)
    if status != 0:
        sys.exit(f"the same call to a room below does not link:\n{text}")


main()
