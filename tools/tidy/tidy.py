#!/usr/bin/env python3
"""The rules of sley's source tree that a script can check.

usage: tidy.py [ROOT]     prints `path:line: message`, ends with status 1 if there are errors

Each check is a function that takes a Tree and yields findings; CHECKS at the end lists them. The
standard library is all this needs. tests/tidy/tidy_test.py has a test for each check.
"""
import os
import re
import sys
from collections import defaultdict, namedtuple

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import labels as label_page  # noqa: E402
from source import Source, functions  # noqa: E402

FOLDERS = ["base", "platform", "parts", "runtime", "sync", "io", "debug", "testing"]
ROOMS = ["state", "queue", "source", "run", "inspect", "watchdog", "entry"]  # of src/runtime
APART = ["http", "tls"]  # a library of its own each, which sees of the others what users see
CPU_HEADERS = "cpu"  # below src/platform/<cpu>: the build has one of these folders
CODE_DIRS = ["include", "src", "tests", "bench", "examples", "tools"]
CODE_SUFFIXES = (".hpp", ".cpp", ".h", ".S")
ATOMIC_HEADER = "include/sley/detail/atomic.hpp"
# What that header calls, and what gives users an atomic of their own.
ATOMIC_HOOKS = ("src/platform/chaos.cpp", "include/sley/testing.hpp")
COMPILER_HEADERS = ("cxxabi.h", "unwind.h")  # the ABI's, not the OS's
# Asio's own headers include it, and buffers of several pieces need it complete. A poll_loop is a set of
# epoll's, in the header alone. The others are of the libraries that a header adapts.
ALLOWED = {"include/sley/asio.hpp": ("sys/uio.h",),
           "include/sley/curl.hpp": ("curl/curl.h",),
           "include/sley/detail/curl_definitions.hpp": ("curl/curl.h",),
           "include/sley/detail/poll_loop_definitions.hpp": ("sys/epoll.h",),
           "include/sley/gtest.hpp": ("gtest/gtest.h",),
           "include/sley/nats.hpp": ("nats/nats.h",),
           "include/sley/detail/nats_definitions.hpp": ("nats/nats.h",),
           "include/sley/detail/nats_session.hpp": ("nats/nats.h",),
           "include/sley/detail/nats_session_definitions.hpp": ("dlfcn.h", "nats/nats.h",
                                                                "sys/socket.h"),
           "include/sley/opentelemetry.hpp": ("opentelemetry/context/runtime_context.h",),
           "include/sley/postgres.hpp": ("libpq-fe.h",),
           "include/sley/detail/postgres_definitions.hpp": ("libpq-fe.h",),
           "include/sley/detail/postgres_session.hpp": ("dlfcn.h", "fcntl.h", "libpq-fe.h", "unistd.h"),
           "include/sley/redis.hpp": ("hiredis/hiredis.h",),
           "include/sley/detail/redis_definitions.hpp": ("hiredis/hiredis.h",),
           "include/sley/detail/redis_session.hpp": ("hiredis/hiredis.h",)}
MAX_COLUMNS = 100
FILE_LINES = (400, 600)  # a warning above the first, an error above the second
FUNCTION_LINES = (40, 70)

LABEL = r"[A-Z]{2,4}-\d+"
NOT_LABELS = {"UTF-8", "UTF-16", "UTF-32", "SHA-1", "SHA-256", "ISO-8859"}

Finding = namedtuple("Finding", "path line message warning", defaults=[False])


class Tree:
    """The files under a root, read once."""

    def __init__(self, root):
        self.root = root
        self.sources = []
        for top in CODE_DIRS:
            for directory, subdirs, names in os.walk(os.path.join(root, top)):
                subdirs.sort()
                for name in sorted(names):
                    if name.endswith(CODE_SUFFIXES):
                        path = os.path.relpath(os.path.join(directory, name), root)
                        self.sources.append(Source(path, self.read(path)))
        self.library = [s for s in self.sources if s.path.startswith(("include/", "src/"))]

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))

    def scripts(self):
        """The shell scripts."""
        names = ["dev", ".ci/run"]
        for top in CODE_DIRS + ["cmake", "fuzz", "packaging"]:
            for directory, _, files in os.walk(os.path.join(self.root, top)):
                names += [os.path.relpath(os.path.join(directory, f), self.root)
                          for f in sorted(files) if f.endswith(".sh")]
        return [name for name in names if self.exists(name)]

    def documents(self):
        names = ["README.md", "ARCHITECTURE.md"]
        if self.exists("docs"):
            for directory, _, files in os.walk(os.path.join(self.root, "docs")):
                names += [os.path.relpath(os.path.join(directory, f), self.root)
                          for f in sorted(files) if f.endswith(".md")]
        return [name for name in names if self.exists(name)]


def src_folder(path):
    """The folder of src that a file belongs to, None outside src."""
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def cpu_folders(tree):
    """The folders of one CPU each: src/platform/x86_64/ and the like."""
    headers = [re.match(rf"src/platform/\w+/(?={CPU_HEADERS}/)", s.path) for s in tree.sources]
    return sorted({header[0] for header in headers if header})


# --- includes ------------------------------------------------------------------------------------

def check_include_arrows(tree):
    for source in tree.sources:
        folder = src_folder(source.path)
        for line, quote, name in source.includes():
            if name.startswith("..") or "/../" in name:
                yield Finding(source.path, line, f'include "{name}" by its full path, without ..')
            elif folder is not None and quote == '"':
                target = name.split("/")[0]
                if target == folder and folder in APART:
                    continue
                if target == CPU_HEADERS and folder == "platform":
                    continue
                if folder in APART:
                    yield Finding(source.path, line,
                                  f"{folder} is a library of its own: it may not include {name}")
                elif target not in FOLDERS:
                    yield Finding(source.path, line,
                                  f'include "{name}" by its full path from src, or with <>')
                elif FOLDERS.index(target) > FOLDERS.index(folder):
                    yield Finding(source.path, line,
                                  f"{folder} may not include {target}: {name} is to its right")
        if folder is not None and folder not in FOLDERS + APART:
            yield Finding(source.path, 1, f"src/{folder} has no place in the order of folders")


def runtime_room(path):
    """The room of a file below src/runtime, given by its path from src; None elsewhere."""
    parts = path.split("/")
    return parts[1] if parts[0] == "runtime" and len(parts) == 3 else None


def check_room_arrows(tree):
    for source in tree.sources:
        if src_folder(source.path) != "runtime":
            continue
        room = runtime_room(source.path[len("src/"):])
        if room not in ROOMS:
            yield Finding(source.path, 1, "a file of src/runtime is in one of its rooms: "
                          + ", ".join(ROOMS))
            continue
        for line, _, name in source.includes():
            target = runtime_room(name)
            if target in ROOMS and ROOMS.index(target) > ROOMS.index(room):
                yield Finding(source.path, line,
                              f"the room {room} may not include {name}: {target} is above it")


def check_public_headers(tree):
    for source in tree.library:
        if not source.path.startswith("include/"):
            continue
        for line, quote, name in source.includes():
            if quote == '"' or name.split("/")[0] in FOLDERS + APART:
                yield Finding(source.path, line, f"public header includes private {name}")
            elif name.endswith(".h") and name not in COMPILER_HEADERS + ALLOWED.get(source.path, ()):
                yield Finding(source.path, line, f"public header includes system header <{name}>")


def check_conformance_includes(tree):
    for source in tree.sources:
        if source.path.startswith("tests/conformance/"):
            for line, _, name in source.includes():
                if name.split("/")[0] in FOLDERS or name.startswith("sley/detail/"):
                    yield Finding(source.path, line,
                                  f"conformance tests see public headers only, not {name}")


def check_pragma_once(tree):
    for source in tree.library:
        if source.path.endswith(".hpp") and "#pragma once" not in source.code:
            yield Finding(source.path, 1, "header without #pragma once")


# A compiler may read such a line as a directive of C++20's modules, whatever follows.
MODULE_WORD = re.compile(r"\s*(module|import)\s+\w")


def check_module_words(tree):
    for source in tree.sources:
        if source.path.startswith(("modules/", "tests/module/")):
            continue
        for line, text in enumerate(source.code, 1):
            if found := MODULE_WORD.match(text):
                yield Finding(source.path, line, f"a line that begins with `{found[1]}`")


# --- words that belong in one place --------------------------------------------------------------

def check_conditional_compilation(tree):
    for source in tree.library:
        if src_folder(source.path) in ("parts", "runtime", "sync"):
            for line, text in enumerate(source.code, 1):
                if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", text):
                    yield Finding(source.path, line,
                                  "conditional compilation: put an empty inline in a seam header")


def check_confined_words(tree):
    confined = [
        (r"\bstd::(atomic\b|atomic_(?!signal_fence|thread_fence))|\b__(atomic|sync)_",
         lambda path: path in (ATOMIC_HEADER, *ATOMIC_HOOKS),
         f"atomics only through {ATOMIC_HEADER}"),
        (r"\b(thread_local|__thread)\b",
         lambda path: path.startswith("src/platform/current."),
         "thread-locals only in src/platform/current.*"),
        (r"\berrno\b",
         lambda path: src_folder(path) not in ("parts", "runtime", "sync", "io"),
         "errno through platform/system_call.hpp: a goroutine may have changed its thread"),
        (r"\b(atomic_thread_fence|__sync_synchronize|_mm_mfence)\b",
         lambda path: path == ATOMIC_HEADER or path.startswith("src/platform/"),
         "no standalone fences: the thread sanitizer does not see them"),
    ]
    for source in tree.library:
        for pattern, allowed, message in confined:
            if not allowed(source.path):
                for line, text in enumerate(source.code, 1):
                    if re.search(pattern, text):
                        yield Finding(source.path, line, message)


# What compilers define for one CPU, its intrinsics and its registers in a signal's context.
CPU_WORDS = re.compile(
    r"\b(__(?:x86_64|amd64|i386|aarch64|arm|riscv|powerpc64|s390x|loongarch)\w*"
    r"|__(?:SSE|AVX|APX|EGPR|ARM_)\w*|__builtin_(?:ia32|aarch64|arm|riscv)_\w+|_mm\d*_\w+"
    r"|immintrin|arm_(?:neon|sve|acle)|gregs|REG_R[A-Z0-9]+|asm|__asm__)\b")
# A declaration's other name, and assembly without instructions, are no CPU's.
NO_INSTRUCTION = re.compile(r"\basm( volatile)?\(\"(_\w+)?\"")


def check_cpu_words(tree):
    """Common code has nothing of one CPU: no #if, no instruction, no register."""
    folders = tuple(cpu_folders(tree))
    for source in tree.library:
        if source.path.startswith(folders):
            continue
        if source.path.endswith(".S"):
            yield Finding(source.path, 1, "assembly belongs to a CPU's folder, src/platform/<cpu>/")
            continue
        for line, text in enumerate(source.code, 1):
            found = CPU_WORDS.search(text)
            if found and not NO_INSTRUCTION.search(source.lines[line - 1]):
                yield Finding(source.path, line,
                              f"{found[0]} belongs to a CPU's folder, src/platform/<cpu>/")


def check_cpu_folders(tree):
    """Each CPU has the headers that the others have."""
    by_folder = {folder: {s.path[len(folder):] for s in tree.sources
                          if s.path.startswith(folder + CPU_HEADERS)}
                 for folder in cpu_folders(tree)}
    every = set().union(*by_folder.values())
    for folder, headers in sorted(by_folder.items()):
        for missing in sorted(every - headers):
            yield Finding(folder + missing, 1, "another CPU's folder has this header")


def check_leftovers(tree):
    for source in tree.sources:
        for line, text in enumerate(source.lines, 1):
            found = re.search(r"\b(TODO|FIXME)\b", text)
            if found:
                yield Finding(source.path, line, f"{found[1]} left over")


# --- order labels --------------------------------------------------------------------------------

class Labels:
    """Where each label stands: {label: [(path, line)]}.

    defined   `// RQ-1  text`
    cited     in any other comment or string, `[atomic RQ-1]` excepted: a field's rule is no use
    claimed   the forms that can only mean a label, so that it must be defined: `// RQ-1: text`,
              the argument of an operation, the start of a check's message, `[atomic RQ-1]`
    """

    def __init__(self, tree):
        self.defined, self.cited, self.claimed = (defaultdict(list) for _ in range(3))
        for source in tree.library:
            for line, comment in source.comments.items():
                self._comment(comment, (source.path, line))
            for line, text in source.strings:
                if re.match(rf"{LABEL}(: |$)", text):
                    self._add(text.split(":")[0], (source.path, line), self.cited, self.claimed)

    @staticmethod
    def _add(text, place, *tables):
        for label in re.findall(rf"\b{LABEL}\b", text):
            for table in tables:
                if label not in NOT_LABELS and place not in table[label]:
                    table[label].append(place)

    def _comment(self, comment, place):
        definition = re.match(rf"\s*{LABEL}(?=  \S)", comment)
        if definition:
            self._add(definition[0], place, self.defined)
            comment = comment[definition.end():]
        for rule in re.findall(r"\[atomic ([^\]]*)\]", comment):
            self._add(rule, place, self.claimed)
        comment = re.sub(r"\[atomic [^\]]*\]", "", comment)
        citation = re.match(rf"\s*{LABEL}(?:(?:, | and |/){LABEL})*:", comment)
        if citation:
            self._add(citation[0], place, self.claimed)
        self._add(comment, place, self.cited)


def check_order_labels(tree):
    labels = Labels(tree)
    for label, places in sorted(labels.defined.items()):
        for path, line in places[1:]:
            first = "%s:%d" % places[0]
            yield Finding(path, line, f"label {label} is already defined at {first}")
        count = len(set(labels.cited[label]) - set(places))
        # A handshake has two sides, and says so by an arrow; a mere invariant is kept somewhere.
        needed = 2 if "<->" in _definition(tree, *places[0]) else 1
        if count < needed:
            sides = "both sides" if needed == 2 else "whoever keeps it"
            yield Finding(*places[0], f"label {label} has {count} citations; {sides} must cite it")
    for label, places in sorted(labels.claimed.items()):
        for path, line in places if label not in labels.defined else []:
            yield Finding(path, line, f"label {label} is not defined anywhere")
    yield from _check_label_page(tree, labels.defined)


def _definition(tree, path, line):
    """The comment that defines a label: up to the next label, or the end of the comment."""
    text = []
    for following in tree.read(path).splitlines()[line - 1:]:
        comment = re.match(r"\s*//(.*)", following)
        if not comment or (text and re.match(rf"\s*{LABEL}  ", comment.group(1))):
            break
        text.append(comment.group(1))
    return " ".join(text)


def label_table(tree):
    return label_page.table(Labels(tree).defined, lambda path, line: _definition(tree, path, line))


def _check_label_page(tree, defined):
    if not tree.exists(label_page.PAGE):
        return
    text = tree.read(label_page.PAGE)
    for line, heading in enumerate(text.splitlines(), 1):
        for label in re.findall(LABEL, heading) if heading.startswith("#") else []:
            if label not in defined and label not in NOT_LABELS:
                yield Finding(label_page.PAGE, line, f"label {label} is not defined in the source")
    if label_page.of_page(text) != label_table(tree):
        yield Finding(label_page.PAGE, 1, "the table of labels is not current: ./dev labels")


# --- prose ---------------------------------------------------------------------------------------

# Words that hide the subject of a sentence, and what to write instead: docs/style.md.
PROSE = [
    (r"\b[Ww]ho(?:m|ever)?\b", "name the subject: the goroutine, the machine, the caller"),
    (r"\b[Tt]hose (?:who|that|of|which|in|with)\b", "repeat the noun that 'those' stands for"),
    (r"\b(?:[Ss]ome|[Nn]o|[Ee]very|[Aa]ny)body\b", "name the subject: another thread, no goroutine"),
    (r"\b[Ss]o (?:many|long|often)\b(?! as\b)", "'this many', 'at least this long'"),
    (r", for (?:it|they|there|that|he|what|who|these|those|none|nobody)\b", "'because' for a reason"),
]


def check_prose(tree):
    for source in tree.sources:
        for line, comment in source.comments.items():
            for pattern, advice in PROSE:
                found = re.search(pattern, comment)
                if found:
                    yield Finding(source.path, line, f"'{found[0].strip(', ')}': {advice}")


TEST = re.compile(r"^\w*TEST\w*\((\w+),\s*(\w+)\)", re.MULTILINE)
# The processes of death tests, the laps of the soak and the scenarios of the models.
SCENARIO = re.compile(r"^(?:CHILD_MAIN|SOAK_LAP)\((\w+)\)|^struct (\w+)\s*: (?:model::)?\w*suite<",
                      re.MULTILINE)
HIDES_ITS_SUBJECT = re.compile(
    r"(?:^|_)(who|whom|whose|whoever|those|(?:some|no|every|any)body|someone|everyone|anyone"
    r"|he|his|him|himself|so_(?:many|long|often)|what_(?:is|was|were))(?:_|$)|^(what)_")


def check_test_names(tree):
    """A test's name is a claim about a subject that it names."""
    for source in tree.sources:
        if source.path.startswith(("tests/", "bench/")):
            code = "\n".join(source.code)
            for found in [*TEST.finditer(code), *SCENARIO.finditer(code)]:
                for name in filter(None, found.groups()):
                    hidden = HIDES_ITS_SUBJECT.search(name)
                    if hidden:
                        line = code.count("\n", 0, found.start()) + 1
                        word = hidden[1] or hidden[2]
                        yield Finding(source.path, line, f"'{word}' in {name}: name the subject")


# --- sizes ---------------------------------------------------------------------------------------

def check_columns(tree):
    for source in tree.sources:
        for line, text in enumerate(source.lines, 1):
            if len(text) > MAX_COLUMNS:
                yield Finding(source.path, line, f"{len(text)} columns, at most {MAX_COLUMNS}")


# Such a reader ends at what it looked for. The command before it may write more, and dies of SIGPIPE:
# with pipefail the pipe then fails, now and then.
ENDS_EARLY = re.compile(r"(?<!\|)\|\s*(grep\b[^|]*\s-\w*[qm]|head\b|sed\s+(-n\s+)?\W?\d*q\b)")


def check_pipes(tree):
    for path in tree.scripts():
        for line, text in enumerate(tree.read(path).splitlines(), 1):
            if not text.lstrip().startswith("#") and ENDS_EARLY.search(text):
                yield Finding(path, line, "a pipe into a reader that ends early: "
                              "read all (<<<, a file) and then search it")


def over(limits, count, source, line, what):
    """Tests, benchmarks and examples are only warned: they are read one piece at a time."""
    soft, hard = limits
    if count > soft:
        error = count > hard and source.path.startswith(("include/", "src/"))
        limit = f"more than the hard limit of {hard}" if error else f"more than {soft}"
        yield Finding(source.path, line, f"{what} has {count} lines, {limit}", not error)


def check_file_lengths(tree):
    for source in tree.sources:
        yield from over(FILE_LINES, len(source.lines), source, 1, "file")


def check_function_lengths(tree):
    for source in tree.sources:
        if not source.path.endswith(".S"):
            for line, count, name in functions(source):
                yield from over(FUNCTION_LINES, count, source, line, name)


# --- documents -----------------------------------------------------------------------------------

# First components of a path that can only mean a file of this tree. Paths in other projects, which
# the documents cite as well, start with that project's name or end in another suffix.
PATH_STARTS = FOLDERS + APART + CODE_DIRS + [
    "docs", "tools", "cmake", "sley", "unit", "conformance", "stress", "death", "model", "support"]
PATH = re.compile(r"(?<![\w/.:-])((?:%s)/[\w./-]*\w\.(?:hpp|cpp|h|S|py|sh|md|cmake))\b"
                  % "|".join(PATH_STARTS))


def check_document_paths(tree):
    for document in tree.documents():
        around = ["", "src", "include", "include/sley", "tests", os.path.dirname(document)]
        for line, text in enumerate(tree.read(document).splitlines(), 1):
            for path in PATH.findall(text):
                if not any(tree.exists(os.path.join(place, path)) for place in around):
                    yield Finding(document, line, f"there is no file {path}")


# Constants with a number for a value: `constexpr std::int64_t longest_ns = 10'000;`
CONSTANT = re.compile(r"^(?:  static |inline )?constexpr (?:std::)?u?(?:int\d*_t|int|size_t) (\w+) = ([\d' *]+);")
# Where the library's own settings are, and what has a number for another reason.
TUNED = ("src/runtime/", "src/sync/", "src/parts/global_queue.hpp", "src/parts/permanent_memory.hpp",
         "src/parts/stack_pool.hpp")
NOT_TUNED = {"main_goroutine_id", "max_name", "layout_text_bytes", "most_frames", "quit_status", "ms",
             "line", "alignment", "sequence_shift", "below_the_frame", "shown_of_each",
             "most_groups", "arriving", "parked", "claimed", "timed_out", "live", "closing", "few"}


def check_tuning(tree):
    """docs/tuning.md has each constant of the library's policies, with its value and file."""
    page = "docs/tuning.md"
    if not tree.exists(page):
        return
    rows = set(re.findall(r"^\| `(\w+)` \| ([\d' *]+) \| `([\w/.]+)` \|", tree.read(page), re.M))
    found = set()
    for source in tree.library:
        if not source.path.startswith(TUNED):
            continue
        for line, text in enumerate(source.code, 1):
            constant = CONSTANT.match(text)
            if constant and constant[1] not in NOT_TUNED:
                row = (constant[1], constant[2].strip(), source.path)
                found.add(row)
                if row not in rows:
                    yield Finding(source.path, line, f"{page} has no row `{row[0]}` | {row[1]}")
    for name, _, path in sorted(rows - found):
        yield Finding(page, 1, f"{path} has no constant {name} with the value of this page")


def check_test_ids(tree):
    """The ids of Go's tests that comments cite are rows of the table."""
    page = "tests/README.md"
    if not tree.exists(page):
        return
    rows = {}
    for line, text in enumerate(tree.read(page).splitlines(), 1):
        row = re.match(r"\| ([A-L]\d{1,2}) \|.*\|([^|]*)\|$", text)
        if row:
            rows[row[1]] = line, re.findall(r"`([^`]+)`", row[2])
    for source in tree.sources:
        if source.path.startswith("tests/"):
            for line, comment in source.comments.items():
                for name in re.findall(r"\b[A-L]\d{1,2}\b", comment):
                    if name not in rows:
                        yield Finding(source.path, line, f"{page} has no row {name}")
                    elif source.path[len("tests/"):] not in rows[name][1]:
                        yield Finding(page, rows[name][0], f"{source.path} is missing in this row")
    for name, (line, files) in rows.items():
        for file in files:
            if not tree.exists(f"tests/{file}"):
                yield Finding(page, line, f"there is no file tests/{file}")


# Tables whose last column has the tests that show what the row says.
PAGES_OF_PROMISES = ["tests/http/README.md", "docs/tls.md"]


def check_promised_tests(tree):
    """Each row of these tables names tests, and there are tests of these names."""
    known = {f"{suite}.{name}" for source in tree.sources if source.path.startswith("tests/")
             for suite, name in TEST.findall("\n".join(source.code))}
    for page in filter(tree.exists, PAGES_OF_PROMISES):
        previous = ""
        for line, text in enumerate(tree.read(page).splitlines(), 1):
            if text.startswith("|") and previous.startswith("|") and not text.startswith("|---"):
                named = re.findall(r"`([^`]+)`", text.rstrip("| ").rsplit("|", 1)[1])
                if not named:
                    yield Finding(page, line, "this row names no test")
                for name in named:
                    if name not in known:
                        yield Finding(page, line, f"there is no test {name}")
            previous = text


# `suite.name`, `.name`, and `.beginning_…` of a name.
CITED = re.compile(r"`[\w…]*\.((?:[a-z0-9]+_){3,}[a-z0-9]*)(…?)`")


def check_cited_tests(tree):
    """A test that a page names exists."""
    known = {name for source in tree.sources if source.path.startswith("tests/")
             for _, name in TEST.findall("\n".join(source.code))}
    pages = [*tree.documents(), *filter(tree.exists, ["SECURITY.md", *PAGES_OF_PROMISES])]
    for page in sorted(set(pages)):
        for line, text in enumerate(tree.read(page).splitlines(), 1):
            for name, more in CITED.findall(text):
                if not any(k.startswith(name) if more else k == name for k in known):
                    yield Finding(page, line, f"there is no test {name}{more}")


def check_runtime_files_documented(tree):
    maps = [d for d in ("ARCHITECTURE.md", "docs/go_internals_map.md") if tree.exists(d)]
    if not maps:
        return
    text = "\n".join(tree.read(d) for d in maps)
    for source in tree.library:
        if src_folder(source.path) == "runtime":
            # `park.hpp` and `park.cpp` are one thing to a reader: either name will do
            stem = os.path.splitext(os.path.basename(source.path))[0]
            if not re.search(rf"(?<!\w){re.escape(stem)}\.(hpp|cpp|h|S|\{{)", text):
                yield Finding(source.path, 1, f"{' and '.join(maps)} do not name this file")


def check_internals_map(tree):
    """Each name of sley's in a row is in one of the files of the row."""
    page = "docs/go_internals_map.md"
    if not tree.exists(page):
        return
    for line, text in enumerate(tree.read(page).splitlines(), 1):
        names, files = ([*text.split("|"), "", "", ""])[2:4]
        files = [f for f in PATH.findall(files) if tree.exists(f)]
        if not files:
            continue
        words = set(re.findall(r"\w+", "\n".join(map(tree.read, files))))
        for name in re.findall(r"`([^`]+)`", names):
            last = re.search(r"(\w+)\W*$", name)
            if last and last[1] not in words:
                yield Finding(page, line, f"{name} is in no file of its row")


CHECKS = [
    check_include_arrows,
    check_room_arrows,
    check_public_headers,
    check_conformance_includes,
    check_pragma_once,
    check_module_words,
    check_conditional_compilation,
    check_confined_words,
    check_cpu_words,
    check_cpu_folders,
    check_leftovers,
    check_order_labels,
    check_prose,
    check_test_names,
    check_columns,
    check_pipes,
    check_file_lengths,
    check_function_lengths,
    check_document_paths,
    check_tuning,
    check_test_ids,
    check_promised_tests,
    check_cited_tests,
    check_runtime_files_documented,
    check_internals_map,
]


def findings(root):
    tree = Tree(root)
    return sorted({finding for check in CHECKS for finding in check(tree)}), len(tree.sources)


def main(arguments):
    found, files = findings(arguments[0] if arguments else ".")
    for finding in found:
        kind = "warning: " if finding.warning else ""
        print(f"{finding.path}:{finding.line}: {kind}{finding.message}")
    errors = sum(not finding.warning for finding in found)
    print(f"tidy: {files} files, {errors} errors, {len(found) - errors} warnings", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
