#!/usr/bin/env python3
"""Every file of the library compiles alone, and the public headers together, with the release preset's
flags, without a warning, and with the headers of glibc 2.34 (RHEL 9) and 2.35 (Ubuntu 22.04).

The other builds of `./dev test` and `./dev check` compile a dozen files as one, where a file may live on
what another one includes. The preset's own commands are used, as far as the syntax. The headers of this
machine are laid out anew without what came later: <sys/rseq.h> (2.35), <sys/pidfd.h> and P_PIDFD (2.36).

usage: sources_test.py COMPILER SOURCE_TREE SCRATCH_DIR ARGUMENTS... HEADERS...    the public headers, as
programs include them, and what the compiler needs for them
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

LATER_HEADERS = ("sys/rseq.h", "sys/pidfd.h")
LATER_NAMES = {"bits/types/idtype_t.h": "P_PIDFD"}
OPTIONS = ("-DSLEY_TESTS=OFF", "-DSLEY_BENCH=OFF", "-DSLEY_EXAMPLES=OFF")
PRECOMPILED = "cmake_pch.hxx.cxx"


# --- headers of an older glibc -------------------------------------------------------------------

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


def old_headers(compiler, scratch):
    """The compiler's arguments that make it see those headers and no others."""
    folders = [lay_out(folder, scratch / f"system-{i}")
               for i, folder in enumerate(search_path(compiler))]
    assert any(f.is_relative_to(scratch) for f in folders), "no headers of glibc were found"
    return ["-nostdinc", "-nostdinc++", *(word for f in folders for word in ("-isystem", str(f)))]


# --- the release preset's commands ---------------------------------------------------------------

def run(command, folder):
    """What a command says; nothing if it succeeds."""
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, cwd=folder)
    return done.stdout if done.returncode != 0 else ""


def must_run(command, folder):
    if said := run(command, folder):
        sys.exit(said)


def without_launcher(command, compiler):
    words = shlex.split(command)
    return words[words.index(compiler):]


def commands_of(build, compiler):
    return [(pathlib.Path(entry["file"]), without_launcher(entry["command"], compiler))
            for entry in json.loads((build / "compile_commands.json").read_text())]


def syntax_only(words, headers, source):
    """The same command as far as the syntax, for another source."""
    return [*words[:words.index("-o")], *headers, "-fsyntax-only", str(source)]


def main():
    compiler = sys.argv[1]
    tree, scratch = map(pathlib.Path, sys.argv[2:4])
    arguments = [word for word in sys.argv[4:] if word.startswith("-")]
    public = [word for word in sys.argv[4:] if not word.startswith("-")]
    shutil.rmtree(scratch, ignore_errors=True)
    build = scratch / "build"
    must_run(["cmake", "--preset", "release", f"-DCMAKE_CXX_COMPILER={compiler}", "-B", build, *OPTIONS],
             tree)
    commands = commands_of(build, compiler)
    headers = old_headers(compiler, scratch)

    # What is compiled a dozen at a time in this preset too is left to the other builds.
    jobs = {path: syntax_only(words, headers, path) for path, words in commands
            if path.suffix == ".cpp" and path.is_relative_to(tree / "src")}
    assert len(jobs) > 150, jobs.keys()
    needed = {word for words in jobs.values() for word in words if word.endswith("/cmake_pch.hxx")}
    for path, words in commands:
        if path.name == PRECOMPILED and str(path.with_suffix("")) in needed:
            must_run([*words[:-2], *headers, *words[-2:]], build)

    together = scratch / "headers.cpp"
    together.write_text("".join(f"#include <{header}>\n" for header in public))
    like = jobs[tree / "src/sync/latch.cpp"]
    jobs[together] = [*like[:-1], *arguments, str(together)]

    has_failed = False
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, said in zip(jobs, pool.map(lambda job: run(job, build), jobs.values())):
            if said:
                has_failed = True
                print(f"{path} does not compile alone:\n{said}")
    print(f"{len(jobs)} files were compiled")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
