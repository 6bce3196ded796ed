#!/usr/bin/env python3
"""The library compiles with the headers of glibc 2.34 (RHEL 9) and 2.35 (Ubuntu 22.04).

The headers of this machine are laid out anew without what came later: <sys/rseq.h> (2.35),
<sys/pidfd.h> and P_PIDFD (2.36). Every file of the library that includes a header of the system is
compiled with those, as far as its syntax.

  old_glibc_test.py COMPILER SOURCE_TREE CPU [COMPILER_ARGUMENTS...]
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LATER_HEADERS = ("sys/rseq.h", "sys/pidfd.h")
LATER_NAMES = {"bits/types/idtype_t.h": "P_PIDFD"}
OF_SYSTEM = re.compile(
    r"^#include <((sys|linux|net|netinet|arpa)/\w+|\w+)\.h>", re.MULTILINE)


def search_path(compiler):
    """Where the compiler looks for headers, in order."""
    said = subprocess.run(
        [compiler, "-E", "-x", "c++", "-", "-v"], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=True).stderr
    part = said.split("#include <...> search starts here:\n")[1].split("End of search list.")[0]
    return [pathlib.Path(line.strip()).resolve() for line in part.splitlines()]


def link_all(old, new, left_out):
    new.mkdir(parents=True)
    for entry in old.iterdir():
        if entry.name not in left_out:
            (new / entry.name).symlink_to(entry)


def lay_out(folder, to):
    """A folder of headers without what came later; the folder itself if nothing did."""
    later = [h for h in (*LATER_HEADERS, *LATER_NAMES) if (folder / h).exists()]
    if not later:
        return folder
    subfolders = {parent for h in later for parent in pathlib.PurePath(h).parents}
    for subfolder in sorted(subfolders, key=lambda s: len(s.parts)):
        left_out = {h.name for h in map(pathlib.PurePath, later) if h.parent == subfolder}
        left_out |= {s.name for s in subfolders if s.parent == subfolder and s != subfolder}
        new = to / subfolder
        if new.exists():
            new.rmdir()
        link_all(folder / subfolder, new, left_out)
    for header, name in LATER_NAMES.items():
        if header in later:
            text = (folder / header).read_text()
            assert name in text, f"{header} has no {name}"
            (to / header).write_text(re.sub(rf"\b{name}\b,?", "", text))
    return to


def main():
    compiler, tree, arguments = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[4:]
    cpu = tree / "src/platform" / sys.argv[3]
    other_cpus = {f.parent for f in tree.glob("src/platform/*/cpu")} - {cpu}
    sources = [f for f in sorted(tree.glob("src/**/*.cpp"))
               if "simulated" not in f.parts and not other_cpus & set(f.parents)
               and not {"testing", "http", "tls"} & set(f.parts)
               and OF_SYSTEM.search(f.read_text())]
    assert len(sources) > 20, sources
    with tempfile.TemporaryDirectory() as scratch:
        folders = [lay_out(folder, pathlib.Path(scratch) / str(i))
                   for i, folder in enumerate(search_path(compiler))]
        assert any(str(f).startswith(scratch) for f in folders), "no headers of glibc were found"
        flags = ["-std=c++20", "-fsyntax-only", "-nostdinc", "-nostdinc++",
                 f"-I{tree}/src", f"-I{cpu}", f"-I{tree}/include", *arguments]
        for folder in folders:
            flags += ["-isystem", str(folder)]

        def compile_one(source):
            return source, subprocess.run([compiler, *flags, str(source)], capture_output=True,
                                          text=True)

        has_failed = False
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for source, result in pool.map(compile_one, sources):
                if result.returncode != 0:
                    has_failed = True
                    print(f"{source.relative_to(tree)} does not compile:\n{result.stderr}")
    print(f"{len(sources)} files were compiled")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
