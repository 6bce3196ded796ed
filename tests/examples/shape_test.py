#!/usr/bin/env python3
"""What every one-file example promises its readers: it is short, says first what it shows, and is
built and run by the tests.

usage: shape_test.py EXAMPLES_FOLDER NAME...     the NAMEs are those that CMake knows
"""
import pathlib
import sys

MAX_LINES = 99
HERE = pathlib.Path(__file__).parent


def complaints(folder, names):
    files = {path.stem: path for path in folder.glob("*.cpp")}
    for name in sorted(set(files) ^ set(names)):
        yield f"{name}: a file without a build, or a build without a file"
    for name, path in sorted(files.items()):
        lines = path.read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            yield f"{path}: {len(lines)} lines, at most {MAX_LINES} are wanted"
        if not lines or not lines[0].startswith("// "):
            yield f"{path}: does not begin with a comment that says what it shows"
        if not any((HERE / f"{name}{end}").exists() for end in (".expected", "_test.py")):
            yield f"{path}: has no {name}.expected and no {name}_test.py"


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]), sys.argv[2:]))
    print(*found, sep="\n", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
