#!/usr/bin/env python3
"""The unwind tables of the two bottom frames refer to their personality routines by name.

GNU ld merges the common parts of tables that differ in a place within a section alone. Then a goroutine's
bottom frame has the personality routine of main's, and an exception that nothing catches does not
end the program.

    personalities_test.py SOURCES CPU COMPILER [OPTION...]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

NAMES = {"sley_goroutine_personality_reference", "sley_goroutine_main_personality_reference"}


def main():
    root, cpu, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "context.o")
        source = root / "src/platform" / cpu / "context.S"
        subprocess.run([*compiler, "-c", "-o", output, source], check=True)
        shown = subprocess.run(["readelf", "--wide", "--relocs", output], check=True,
                               capture_output=True, text=True).stdout
    tables = re.search(r"'\.rela\.eh_frame'.*?(?=\n\n|\Z)", shown, re.DOTALL)
    if not tables:
        sys.exit(f"no relocations of unwind tables:\n{shown}")
    missing = sorted(name for name in NAMES if not re.search(rf"\s{name} ", tables[0]))
    if missing:
        sys.exit(f"not referred to by name: {', '.join(missing)}\n{tables[0]}")


if __name__ == "__main__":
    main()
