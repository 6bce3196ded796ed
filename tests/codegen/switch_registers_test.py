#!/usr/bin/env python3
"""No register keeps a value over a switch of stacks, whatever the compiler may use.

Compiles what switches, also for CPUs with more registers than others have (AVX-512, APX, SVE, V), and
reads the assembly behind each switch: a register must be written there before it is read. The
machine needs no such CPU. Options that the compiler does not know are left out.

    switch_registers_test.py SOURCES CPU COMPILER [OPTION...]

tools/mutate/switch.py looks whether it finds each register that the switch does not claim.
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


KEPT = "tests/codegen/kept_over_switch.cpp"


class X86_64:
    """Of the runtime the registers that only some CPUs have: the tests use the others over many
    switches. Of what is there for this test all but the frame pointer, which the switch itself
    keeps."""
    SOURCES = ["src/runtime/run/park.cpp", "src/runtime/run/schedule.cpp",
               "src/runtime/run/exit.cpp", "src/runtime/inspect/stack_trace.cpp", KEPT]
    FEWEST_SWITCHES = 3
    OPTIONS = [["-march=x86-64"], ["-march=x86-64-v3"], ["-march=x86-64-v4"],
               ["-march=sapphirerapids"], ["-mapxf"], ["-march=x86-64-v4", "-mapxf"]]
    FLAGS = ["-mno-red-zone"]
    JUMP = re.compile(r"jmpq?\s+\*16\(")
    OTHERS = re.compile(
        r"%(?:[xyz]mm(1[6-9]|2\d|3[01])\b|(k[0-7])\b|(r(?:1[6-9]|2\d|3[01]))[dwb]?\b)")
    ALL = re.compile(r"%(?:[xyz]mm([12]?\d|3[01])\b|(k[0-7])\b|(r(?:[89]|[12]\d|3[01]))[dwb]?\b"
                     r"|[re]?([abcd])[xlh]\b|[re]?(si|di)l?\b)")
    PURE_WRITE = re.compile(r"^(v(?!p?test|u?comis)|k(?!o?r?test)|mov|lea|pop|set)")
    READ_ALONE = re.compile(r"^(push|cmp|test)")

    def __init__(self):
        self.known = self.ALL

    def look_at(self, source):
        self.known = self.ALL if source == KEPT else self.OTHERS

    def registers(self, text):
        """Vector registers by number, whatever their width, and so on."""
        return {f"v{m[1]}" if m[1] else next(filter(None, m.groups()))
                for m in self.known.finditer(text)}

    def read_and_written(self, name, rest):
        args = operands(rest.split("#")[0])
        if not args:
            return set(), set()
        if self.READ_ALONE.match(name):
            return self.registers(rest), set()
        if name.startswith("pop2"):
            return set(), self.registers(rest)
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
    SOURCES = [KEPT]
    FEWEST_SWITCHES = 3
    OPTIONS = [["-march=armv8-a"], ["-march=armv8.5-a", "-mbranch-protection=standard"],
               ["-march=armv8.2-a+sve"], ["-march=armv8.5-a+sve2"]]
    FLAGS = []
    JUMP = re.compile(r"br\s+x16$")
    REGISTER = re.compile(r"\b(?:[xw](1?\d|2[0-8]|30)|[vqdshbz]([12]?\d|3[01])|p(1?\d))\b")
    READ_ALONE = re.compile(r"^(st|prf|cmp|cmn|tst|f?ccm|fcmp|cb|tb|b|ret|msr|autia|pacia|ptest)")
    READ_AND_WRITE = re.compile(r"^(movk|ins|bf|f?ml[as]|fml|sli|sri|tbx)")
    # What a function may change.
    OF_CALLS = {f"x{n}" for n in (*range(19), 30)} | {f"p{n}" for n in range(16)} | {
        f"v{n}" for n in (*range(8), *range(16, 32))}

    def look_at(self, source):
        pass

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


class RiscV64:
    """All registers but the frame pointer, as above."""
    SOURCES = [KEPT]
    FEWEST_SWITCHES = 3
    OPTIONS = [["-march=rv64gc"], ["-march=rv64gcv"]]
    FLAGS = []
    JUMP = re.compile(r"jr\s+t2$")
    REGISTER = re.compile(r"\b(ra|t[0-6]|a[0-7]|s[1-9]|s1[01]|f[ast][0-9]|f[st]1[01]|v[12]?\d|v3[01])\b")
    READ_ALONE = re.compile(r"^(s[bhwd]|fs[hwd]|vs\w+\.v|b\w+|j|jr|ret|csrw)$")
    OF_CALLS = {"ra", *(f"t{n}" for n in range(7)), *(f"a{n}" for n in range(8)),
                *(f"ft{n}" for n in range(12)), *(f"fa{n}" for n in range(8)),
                *(f"v{n}" for n in range(32))}

    def look_at(self, source):
        pass

    def registers(self, text):
        return set(self.REGISTER.findall(text))

    def read_and_written(self, name, rest):
        args = operands(rest.split("#")[0])
        if name in ("call", "tail", "jal", "jalr"):
            return self.registers(rest if name == "jalr" else ""), self.OF_CALLS
        if not args or self.READ_ALONE.match(name):
            return self.registers(rest), set()
        # A store, a branch and the like have no result; the others have theirs first.
        return self.registers(" ".join(args[1:])), self.registers(args[0])


CPUS = {"x86_64": X86_64(), "aarch64": AArch64(), "riscv64": RiscV64()}


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


class Report:
    def __init__(self):
        self.lines = []
        self.failed = False

    def fail(self, line):
        self.lines.append(line)
        self.failed = True


def look(root, name, compiler, folders_before=(), sources=None):
    """What the compiler makes of the sources: a report."""
    cpu, report = CPUS[name], Report()
    folders = [f"-I{folder}" for folder in (
        *folders_before, root / "include", root / "src", root / "src/platform" / name)]
    for more in cpu.OPTIONS:
        known = subprocess.run([*compiler, *more, "-E", "-x", "c++", "/dev/null"],
                               capture_output=True)
        if known.returncode != 0:
            report.lines.append(f"{' '.join(more)}: not known to this compiler")
            continue
        count = 0
        for source in sources or cpu.SOURCES:
            cpu.look_at(source)
            # Without the rare way on which control words change: it may be behind the switch.
            without = ["-DSLEY_NO_FP_CONTROL"] if source == KEPT else []
            made = subprocess.run([*compiler, *more, *FLAGS, *cpu.FLAGS, *without, *folders,
                                   root / source],
                                  capture_output=True, text=True)
            if made.returncode != 0:
                report.fail(f"{source} {' '.join(more)}: does not compile\n{made.stderr}")
                continue
            count += sum(1 for _ in switches(cpu, made.stdout))
            for fault in faults(cpu, made.stdout):
                report.fail(f"{source} {' '.join(more)}: read behind a switch: {fault}")
        report.lines.append(f"{' '.join(more)}: {count} switches")
        if count < cpu.FEWEST_SWITCHES:
            report.fail("too few")
    return report


def main():
    report = look(pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
    print("\n".join(report.lines))
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
