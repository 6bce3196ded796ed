#!/usr/bin/env python3
"""No register keeps a value over a switch of stacks, whatever the compiler may use.

Compiles what switches for CPUs with more registers than others have (AVX-512, APX) and reads the
assembly behind each switch: such a register must be written there before it is read. The machine
needs no such CPU. Options that the compiler does not know are left out.
"""
import pathlib
import re
import subprocess
import sys

SOURCES = ["src/runtime/run/park.cpp", "src/runtime/run/schedule.cpp", "src/runtime/run/exit.cpp",
           "src/runtime/inspect/stack_trace.cpp", "tests/codegen/kept_over_switch.cpp"]
CPUS = [["-march=x86-64-v3"], ["-march=x86-64-v4"], ["-march=sapphirerapids"], ["-mapxf"],
        ["-march=x86-64-v4", "-mapxf"]]
FLAGS = ["-std=c++20", "-O2", "-fomit-frame-pointer", "-mno-red-zone", "-w", "-S", "-o", "-"]

REGISTER = re.compile(r"%(?:[xyz]mm(1[6-9]|2\d|3[01])\b|(k[0-7])\b|(r(?:1[6-9]|2\d|3[01]))[dwb]?\b)")
PURE_WRITE = re.compile(r"^(v(?!p?test|u?comis)|k(?!o?r?test)|mov|lea|pop|set)")


def registers(text):
    """Vector registers by number, whatever their width."""
    return {f"v{m[1]}" if m[1] else m[2] or m[3] for m in REGISTER.finditer(text)}


def operands(text):
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [p for p in parts + [text[start:].strip()] if p]


def read_and_written(line):
    name, _, rest = line.strip().partition("\t")
    args = operands(rest.split("#")[0])
    if not args:
        return set(), set()
    is_zeroing = "xor" in name and len(args) > 1 and len(set(args)) == 1
    target = args[-1]
    is_register = target.startswith("%")
    written = registers(re.sub(r"\{.*", "", target)) if is_register else set()
    read = set().union(*(registers(a) for a in args[:-1])) if not is_zeroing else set()
    if not is_register or not PURE_WRITE.match(name):
        read |= registers(target) if not is_zeroing else set()
    else:
        read |= registers("".join(re.findall(r"\{.*", target)))
    return read, written


def switches(assembly):
    """What follows each switch, to the end of its function."""
    lines = assembly.splitlines()
    for at, line in enumerate(lines):
        if re.search(r"jmpq?\s+\*16\(", line):
            end = next(i for i in range(at, len(lines)) if ".cfi_endproc" in lines[i])
            yield lines[at + 1:end]


def faults(assembly):
    found = []
    for lines in switches(assembly):
        known = set()
        for line in lines:
            if not line.startswith("\t") or line.lstrip().startswith((".", "#")):
                continue
            read, written = read_and_written(line)
            found += [f"{r}: {line.strip()}" for r in read - known]
            known |= written
    return found


def main():
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    folders = [f"-I{root}/{folder}" for folder in ("include", "src", "src/platform/x86_64")]
    failed = False
    for cpu in CPUS:
        known = subprocess.run([compiler, *cpu, "-E", "-x", "c++", "/dev/null"],
                               capture_output=True)
        if known.returncode != 0:
            print(f"{' '.join(cpu)}: not known to this compiler")
            continue
        count = 0
        for source in SOURCES:
            made = subprocess.run([compiler, *cpu, *FLAGS, *folders, root / source],
                                  capture_output=True, text=True)
            if made.returncode != 0:
                print(f"{source} {' '.join(cpu)}: does not compile\n{made.stderr}")
                failed = True
                continue
            count += sum(1 for _ in switches(made.stdout))
            for fault in faults(made.stdout):
                print(f"{source} {' '.join(cpu)}: read behind a switch: {fault}")
                failed = True
        print(f"{' '.join(cpu)}: {count} switches")
        failed = failed or count < 2 * len(SOURCES) - 2
    sys.exit(failed)


if __name__ == "__main__":
    main()
