#!/usr/bin/env python3
"""A register that a CPU's switch of stacks does not claim to change, each in turn: does a test notice?

    switch.py SOURCES CPU COMPILER [OPTION...]

The test is tests/codegen/switch_registers_test.py. Those that none of the compiler's options know can't be noticed. Status 1: a mutation was not noticed.
"""
import pathlib
import re
import sys
import tempfile

# They hold no value that a compiler keeps: all of memory, the result of a comparison, and what each
# piece of vector code sets for itself.
NO_VALUES = {"memory", "cc", "vl", "vtype"}
CLOBBER = re.compile(r'"([a-z]+\d*)"')


def claims(text):
    """Where each register is claimed. Elsewhere such a text has a space or names an operand."""
    return [m for m in CLOBBER.finditer(text)
            if not text[:m.start()].endswith("asm(") and m[1] not in NO_VALUES]


def without(text, claim):
    """The list without one element, which has a comma on one side at least."""
    before, behind = text[:claim.start()], text[claim.end():]
    if re.match(r"\s*,", behind):
        return before + behind[behind.index(",") + 1:]
    return re.sub(r",\s*(\\\s*)?$", r"\1", before) + behind


def main():
    root, cpu, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    sys.path.insert(0, str(root / "tests/codegen"))
    import switch_registers_test as test

    if test.look(root, cpu, compiler).failed:
        sys.exit("the test fails without a mutation")
    folder = root / "src/platform" / cpu
    caught, missed = [], []
    for header in (folder / "cpu/switch.hpp", folder / "vector_registers.hpp"):
        text = header.read_text() if header.exists() else ""
        for claim in claims(text):
            with tempfile.TemporaryDirectory() as temporary:
                # Before the sources: as "cpu/switch.hpp", and by its full name.
                name = header.relative_to(folder)
                for copy in (pathlib.Path(temporary, name),
                             pathlib.Path(temporary, "platform", cpu, name)):
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_text(without(text, claim))
                report = test.look(root, cpu, compiler, [temporary], [test.KEPT])
            (caught if report.failed else missed).append(claim[1])
            print(f"{claim[1]}: {'noticed' if report.failed else 'NOT NOTICED'}", flush=True)
            for line in report.lines if report.failed else []:
                if "does not compile" in line:
                    sys.exit(f"{claim[1]}: {line}")
    print(f"{cpu}: {len(caught)} of {len(caught) + len(missed)} registers are noticed")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
