#!/usr/bin/env python3
"""No register keeps a value over a switch of stacks, whatever the compiler may use.

Compiles what switches, also for CPUs with more registers than others have (AVX-512, APX, SVE), and
reads the assembly behind each switch: a register must be written there before it is read. The
machine needs no such CPU. Options that the compiler does not know are left out.
"""
import pathlib
import re
import subprocess
import sys

FLAGS = ["-std=c++20", "-O2", "-fomit-frame-pointer", "-w", "-S", "-o", "-"]


def operands(text):
    parts, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [p for p in parts + [text[start:].strip()] if p]


class X86_64:
    """The registers that only some CPUs have: the tests use the others over many switches."""
    SOURCES = ["src/runtime/run/park.cpp", "src/runtime/run/schedule.cpp",
               "src/runtime/run/exit.cpp", "src/runtime/inspect/stack_trace.cpp",
               "tests/codegen/kept_over_switch.cpp"]
    FEWEST_SWITCHES = 8
    OPTIONS = [["-march=x86-64-v3"], ["-march=x86-64-v4"], ["-march=sapphirerapids"], ["-mapxf"],
               ["-march=x86-64-v4", "-mapxf"]]
    FLAGS = ["-mno-red-zone"]
    JUMP = re.compile(r"jmpq?\s+\*16\(")
    REGISTER = re.compile(
        r"%(?:[xyz]mm(1[6-9]|2\d|3[01])\b|(k[0-7])\b|(r(?:1[6-9]|2\d|3[01]))[dwb]?\b)")
    PURE_WRITE = re.compile(r"^(v(?!p?test|u?comis)|k(?!o?r?test)|mov|lea|pop|set)")

    def registers(self, text):
        """Vector registers by number, whatever their width."""
        return {f"v{m[1]}" if m[1] else m[2] or m[3] for m in self.REGISTER.finditer(text)}

    def read_and_written(self, name, rest):
        args = operands(rest.split("#")[0])
        if not args:
            return set(), set()
        is_zeroing = "xor" in name and len(args) > 1 and len(set(args)) == 1
        target = args[-1]
        is_register = target.startswith("%")
        written = self.registers(re.sub(r"\{.*", "", target)) if is_register else set()
        read = set().union(*(self.registers(a) for a in args[:-1])) if not is_zeroing else set()
        if not is_register or not self.PURE_WRITE.match(name):
            read |= self.registers(target) if not is_zeroing else set()
        else:
            read |= self.registers("".join(re.findall(r"\{.*", target)))
        return read, written


class AArch64:
    """All registers but the frame pointer, which the switch itself keeps, where no jump leads from
    before the switch to behind it."""
    SOURCES = ["tests/codegen/kept_over_switch.cpp"]
    FEWEST_SWITCHES = 3
    OPTIONS = [["-march=armv8-a"], ["-march=armv8.5-a", "-mbranch-protection=standard"],
               ["-march=armv8.2-a+sve"], ["-march=armv8.5-a+sve2"]]
    FLAGS = []
    JUMP = re.compile(r"br\s+x16$")
    REGISTER = re.compile(r"\b(?:[xw]([12]?\d|30)|[vqdshbz]([12]?\d|3[01])|p(1?\d))\b")
    READ_ALONE = re.compile(r"^(st|prf|cmp|cmn|tst|f?ccm|fcmp|cb|tb|b|ret|msr|autia|pacia|ptest)")
    READ_AND_WRITE = re.compile(r"^(movk|ins|bf|f?ml[as]|fml|sli|sri|tbx)")
    # What a function may change.
    OF_CALLS = {f"x{n}" for n in (*range(19), 30)} | {f"p{n}" for n in range(16)} | {
        f"v{n}" for n in (*range(8), *range(16, 32))}

    def registers(self, text):
        return {f"x{m[1]}" if m[1] else f"v{m[2]}" if m[2] else f"p{m[3]}"
                for m in self.REGISTER.finditer(text)}

    def read_and_written(self, name, rest):
        args = operands(rest.split("//")[0])
        if name in ("bl", "blr"):
            return self.registers(rest if name == "blr" else ""), self.OF_CALLS
        if not args or self.READ_ALONE.match(name):
            return self.registers(rest), set()
        if name.startswith("ld"):
            address = next((i for i, a in enumerate(args) if a.startswith("[")), len(args))
            return (self.registers(" ".join(args[address:])),
                    self.registers(re.sub(r"/z", "", " ".join(args[:address]))))
        read = self.registers(" ".join(args[1:]))
        if self.READ_AND_WRITE.match(name) or "[" in args[0]:
            read |= self.registers(args[0])
        return read, self.registers(args[0])


CPUS = {"x86_64": X86_64(), "aarch64": AArch64()}


def switches(cpu, assembly):
    """What follows each switch, to the end of its function."""
    lines = assembly.splitlines()
    for at, line in enumerate(lines):
        if cpu.JUMP.search(line):
            end = next(i for i in range(at, len(lines)) if ".cfi_endproc" in lines[i])
            yield lines[at + 1:end]


def faults(cpu, assembly):
    found = []
    for lines in switches(cpu, assembly):
        known = set()
        for line in lines:
            if not line.startswith("\t") or line.lstrip().startswith((".", "#", "//")):
                continue
            name, _, rest = line.strip().partition("\t")
            read, written = cpu.read_and_written(name, rest)
            found += [f"{r}: {line.strip()}" for r in read - known]
            known |= written
    return found


def main():
    compiler, root, name = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    cpu = CPUS[name]
    folders = [f"-I{root}/{folder}" for folder in ("include", "src", f"src/platform/{name}")]
    failed = False
    for options in cpu.OPTIONS:
        known = subprocess.run([compiler, *options, "-E", "-x", "c++", "/dev/null"],
                               capture_output=True)
        if known.returncode != 0:
            print(f"{' '.join(options)}: not known to this compiler")
            continue
        count = 0
        for source in cpu.SOURCES:
            made = subprocess.run([compiler, *options, *FLAGS, *cpu.FLAGS, *folders, root / source],
                                  capture_output=True, text=True)
            if made.returncode != 0:
                print(f"{source} {' '.join(options)}: does not compile\n{made.stderr}")
                failed = True
                continue
            count += sum(1 for _ in switches(cpu, made.stdout))
            for fault in faults(cpu, made.stdout):
                print(f"{source} {' '.join(options)}: read behind a switch: {fault}")
                failed = True
        print(f"{' '.join(options)}: {count} switches")
        failed = failed or count < cpu.FEWEST_SWITCHES
    sys.exit(failed)


if __name__ == "__main__":
    main()
