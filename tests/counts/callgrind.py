"""Runs a program under callgrind and reads what it counted."""
import collections
import os
import re
import subprocess

# What one part of a run has done. `instructions` has those of each function of the program itself:
# libc's depend on the CPU.
Counts = collections.namedtuple("Counts", "instructions locked mallocs")


def run(command, folder, mark):
    """Runs the command. Returns the Counts of each part, which ends where the function `mark` is called.

    It must be a function that calls none and does not switch stacks: callgrind may take the return to
    another for a call.
    """
    options = ["--tool=callgrind", "--collect-bus=yes", "--compress-strings=no", "--compress-pos=no",
               f"--callgrind-out-file={folder}/out", f"--dump-before={mark}"]
    environment = dict(os.environ, SLEY_MAXPROCS="1", SLEYDEBUG="")
    result = subprocess.run(["valgrind", "-q", *options, *command], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: status {result.returncode}\n{result.stdout}")
    parts = []
    while os.path.exists(f"{folder}/out.{len(parts) + 1}"):
        with open(f"{folder}/out.{len(parts) + 1}", encoding="utf-8") as file:
            parts.append(read(file, command[0]))
    return parts


def read(lines, program):
    """The Counts of one file of callgrind's, whose format Valgrind's manual describes."""
    program = os.path.realpath(program)
    instructions, locked, mallocs = collections.Counter(), 0, 0
    events, is_own, function, is_of_call, callee = [], False, "", False, ""
    for line in lines:
        key, separator, value = line.rstrip("\n").partition("=")
        if line.startswith("events:"):
            events = line.split()[1:]
        elif separator and key == "ob":
            is_own = os.path.realpath(value) == program
        elif separator and key == "fn":
            function = short(value)
        elif separator and key == "cfn":
            callee = value
        elif separator and key == "calls":
            mallocs += int(value.split()[0]) if callee == "malloc" else 0
            is_of_call = True  # the next line has what the callee cost
        elif re.match(r"[\d+*-]", line):
            if not is_of_call and is_own:
                costs = dict(zip(events, map(int, line.split()[1:])))
                instructions[function] += costs.get("Ir", 0)
                locked += costs.get("Ge", 0)
            is_of_call = False
    return Counts(instructions, locked, mallocs)


def difference(more, less):
    instructions = collections.Counter(more.instructions)
    instructions.subtract(less.instructions)
    return Counts(instructions, more.locked - less.locked, more.mallocs - less.mallocs)


def short(name):
    """A function's name without its arguments, those of templates, and what it returns."""
    name = re.sub(r" \[clone [^]]*\]|\(anonymous namespace\)::|'\d+$", "", name)
    name = name.replace("operator()", "operator[call]").replace("operator->", "operator[arrow]")
    kept, depth = [], 0
    for c in name:
        depth += (c in "<(") - (c in ">)")
        if depth == 0 and c not in ">)":
            kept.append(c)
    words = re.sub(r" (const|volatile|&+)(?= |$)", "", "".join(kept)).split() or [name]
    return words[-1].replace("[call]", "()").replace("[arrow]", "->")
