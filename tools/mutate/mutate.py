#!/usr/bin/env python3
"""Weakens every labelled memory order in turn, and says which model notices.

    mutate.py FOLDER [LABEL...]
    mutate.py --sites FOLDER

FOLDER has the programs of tests/model. The labels are those that the sources cite ("RQ-1"), and
each is weakened as a whole, in each function that cites it ("RQ-1@push"), and in all the other ways
that the models list. A mutation is tried on every model that lists one of its label.

A mutation that no model notices is an error, and so is a label that no model runs, unless its
section of docs/memory_orders.md says why: with the mutation's name behind "Not distinguishable", or
with "no model". Where a model has a function's step under another name, the page says which behind
"Under other names". With --sites a mutation counts as noticed if a model runs it in a few schedules,
which takes seconds. Status 1 if there is an error.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LABEL = re.compile(r'"([A-Z]{2}-\d+)"')
# The first line of a function; control flow and calls look alike.
FUNCTION = re.compile(r"^ {0,6}(?!throw |return )(?:[\w:<>&*,\[\]~]+ )*[&*]?(?:\w+::)*(\w+)\((?!.*;\s*(?://.*)?$)")
NO_FUNCTION = {"if", "while", "for", "switch", "return", "catch", "sizeof", "defined"}
NOT_SEEN = "Not distinguishable"
OTHER_NAMES = "Under other names"


def sites():
    """{label: functions that cite it}"""
    found = {}
    for folder in ("include", "src"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if path.name == "atomic.hpp":
                continue
            function = None
            for line in path.read_text().splitlines():
                if line.lstrip().startswith("//"):
                    continue
                begins = FUNCTION.match(line)
                if begins and begins.group(1) not in NO_FUNCTION:
                    function = begins.group(1)
                for label in LABEL.findall(line.split(" // ")[0]):
                    found.setdefault(label, set()).add(function)
    return found


def sections():
    """{label: its section of docs/memory_orders.md, if it has one}"""
    text = (ROOT / "docs/memory_orders.md").read_text()
    parts = re.split(r"^#+ (.*)$", text, flags=re.M)
    return {title: " ".join(text.split()) for title, text in zip(parts[1::2], parts[2::2])}


def names_behind(phrase, section):
    """What is quoted from the phrase up to the next of its kind."""
    where = section.find(phrase)
    if where < 0:
        return set()
    ends = [e for p in (NOT_SEEN, OTHER_NAMES) if (e := section.find(p, where + 1)) >= 0]
    return set(re.findall(r"`([^`]+)`", section[where:min(ends, default=len(section))]))


def excuse(mutation, section, is_run=True):
    """What the page says about a mutation that is not noticed, or None."""
    label, _, site = mutation.partition("@")
    names = {mutation, site, site.split(".")[0]} - {""}
    excused = names_behind(NOT_SEEN, section)
    if names & excused or label in excused:
        return "not distinguishable, see the page"
    if not is_run and names & names_behind(OTHER_NAMES, section):
        return "in the model under another name, see the page"
    return None


def label_of(mutation):
    return re.match(r"[A-Z]{2}-\d+", mutation)


class models:
    def __init__(self, folder):
        self.programs = sorted(p for p in Path(folder).glob("model_*") if os.access(p, os.X_OK))
        self.lists = {p: self.run(p, "--list").splitlines() for p in self.programs}

    @staticmethod
    def run(program, *arguments):
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=False)
        return done.stdout

    def of(self, label):
        return [p for p, known in self.lists.items()
                if any((m := label_of(k)) and m.group() == label for k in known)]

    def listed(self, label):
        return {k for known in self.lists.values() for k in known
                if (m := label_of(k)) and m.group() == label}

    def attempt(self, mutation, programs):
        """(is it noticed, what to say)"""
        weakened = False
        for program in sorted(programs, key=lambda p: mutation not in self.lists[p]):
            said = self.run(program, "--mutate", mutation)
            if ": caught by " in said:
                return True, said.split(": without ")[0] + ": " + said.split("caught by ")[1].strip()
            weakened = weakened or ", 0 operations weakened" not in said
        return False, "NOT CAUGHT" if weakened else not_run_by(programs)

    def run_in_a_few_schedules(self, mutation, programs):
        """(does one run it, what to say)"""
        for program in programs:
            if mutation in self.run(program, "--run", mutation).splitlines():
                return True, "run by " + program.name
        return False, not_run_by(programs)


def not_run_by(programs):
    return "NOT RUN by " + ", ".join(p.name for p in programs)


def main():
    arguments = sys.argv[1:]
    only_sites = arguments[:1] == ["--sites"]
    if len(arguments) < 1 + only_sites:
        sys.exit(__doc__)
    folder, *labels = arguments[only_sites:]
    all_models, pages, cited = models(folder), sections(), sites()
    attempt = all_models.run_in_a_few_schedules if only_sites else all_models.attempt
    labels = labels or sorted(cited)
    errors = 0
    work = []
    for label in labels:
        section = pages.get(label, "")
        programs = all_models.of(label)
        if programs:
            mutations = {label} | {f"{label}@{f}" for f in cited.get(label, ()) if f}
            work += [(m, programs, section) for m in sorted(mutations | all_models.listed(label))]
        elif re.search(r"no\s+model", section, re.I):
            print(f"{label}: no model, see the page")
        elif excuse(label, section):
            print(f"{label}: not distinguishable, see the page")
        else:
            print(f"{label}: ERROR: no model runs it, and the page does not say why")
            errors += 1
    with ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        results = pool.map(lambda w: attempt(w[0], w[1]), work)
        for (mutation, _, section), (is_caught, said) in zip(work, results):
            why = None if is_caught else excuse(mutation, section, not said.startswith("NOT RUN"))
            errors += not is_caught and why is None
            print(f"{mutation}: {said if is_caught or why is None else why}", flush=True)
    print(f"{len(work)} mutations of {len(labels)} labels, {errors} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
