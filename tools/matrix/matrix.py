#!/usr/bin/env python3
"""Builds sley with many compilers, flags and linkers, runs a part of its tests, and makes a table.

    matrix.py [--record] [ROW...]     all rows, if none is named
    matrix.py --packages [ROW...]     the Debian packages of the rows that apt knows

A row is built in build/matrix/ROW, or where an earlier row has the same objects: the library, programs of the tests, and the programs of
tests/package/consumer with the installed library, all with the row's compiler, flags and linker. The
tests run at 1 and 4 Ps. Together the public headers must compile without a warning.

A row whose compiler is not installed runs in the newer suite of Debian that it names, with that
suite's libc, libstdc++, GoogleTest and CMake (suite.sh). Without a suite it is not to be had here,
which is no failure. Status 1: a row of this run failed; build/matrix/ROW.log says how.

build/matrix/table.md has the last result of each row, also of rows that are not named. --record puts
it into docs/compilers.md.

JOBS is the number of parallel jobs (default: number of CPUs).
"""
import dataclasses
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/matrix"
PAGE = ROOT / "docs/compilers.md"
NO_SUITE = 77  # suite.sh's status
JOBS = int(os.environ.get("JOBS", os.cpu_count()))

TESTS = "platform|chan|select|scheduler|preemption|registers|debug|exceptions?|stack_overflow"
OPTIONS = [
    "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DSLEY_UNITY=ON", "-DSLEY_WERROR=ON",
    "-DSLEY_TEST_KINDS=unit;conformance;stress;death", f"-DSLEY_TEST_NAMES={TESTS}",
    "-DSLEY_PROC_COUNTS=1;4", "-DSLEY_TEST_SOURCES=OFF",
    *(f"-DSLEY_{part}=OFF" for part in ("HTTP", "TLS", "TESTING", "BENCH", "EXAMPLES", "INSPECT"))]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
# They need other libraries, or a part of sley that no row builds.
OTHER_HEADERS = {"asio", "curl", "execution", "http", "https", "nats", "opentelemetry", "postgres",
                 "redis", "testing", "tls"}


@dataclasses.dataclass(frozen=True)
class Row:
    """`proof` is what `readelf OPTION` of a program must say: (option, regular expression, whether it
    must be there)."""
    name: str
    compiler: str
    standard: str = "20"
    suite: str = ""              # of Debian, which has the compiler
    flags: str = ""              # of the compiler, after -O2
    link: str = ""               # of the linker, for programs and shared libraries
    link_programs: str = ""      # for programs alone
    packages: tuple = ()         # of Debian, besides the compiler's
    options: tuple = ()          # of CMake
    cpu: str = ""                # the row is for this CPU alone
    cpu_has: tuple = ()          # without these features the programs are not run
    refused: str = ""            # what CMake says, if it must refuse the row
    proof: tuple = ()


AVX512 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LTO = ("-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON",)
STATIC = ("-DSLEY_BUILD_SHARED=OFF",)
# trixie's GoogleTest is g++ 14's, and needs that compiler's runtime.
OWN_GTEST = ("-DSLEY_GTEST_SOURCES=/usr/src/googletest",)
# GCC warns of its own sanitizers' code.
ASAN = ("-DSLEY_SANITIZE=address,undefined",)
# Without the tests that need a signal at once: GCC's thread sanitizer keeps signals from threads that
# compute or sleep (docs/debugging.md).
TSAN = ("-DSLEY_SANITIZE=thread", "-DSLEY_TEST_NAMES=chan|select|exceptions?|stack_overflow")
NO_SHADOW_STACK = ("-n", r"\bSHSTK\b", False)
NO_LOADER = ("-l", r"\bINTERP\b", False)
HARDENED = ("-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS -fstack-protector-strong "
            "-ftrivial-auto-var-init=zero -fPIE")

# What a suite has besides the compilers.
SUITE_PACKAGES = {"cmake", "file", "gcc", "libgtest-dev", "ninja-build", "pkg-config", "python3"}

ROWS = [
    Row("g++-12", "g++-12"),
    Row("g++-13", "g++-13", suite="trixie", options=OWN_GTEST),
    Row("g++-14", "g++-14", suite="trixie"),
    Row("g++-15", "g++-15", suite="sid"),
    Row("g++-16", "g++-16", suite="sid"),
    Row("clang-16", "clang++-16"),
    Row("clang-19", "clang++-19"),
    Row("clang-21", "clang++-21", suite="sid"),
    Row("clang-23", "clang++-23", suite="sid"),
    Row("libc++", "clang++-19", flags="-stdlib=libc++", packages=("libc++-19-dev", "libc++abi-19-dev"),
        refused="sley needs libstdc++"),
    Row("g++-c++23", "g++-12", "23"),
    Row("g++-c++26", "g++-16", "26", suite="sid"),
    # CMake 3.25 does not know how clang is asked for C++26.
    Row("clang-c++26", "clang++-19", flags="-Xclang -std=c++26"),
    # With -O3 GCC 12 warns of std::string::insert() and an assigned literal.
    Row("g++-native", "g++-12",
        flags="-O3 -march=native -Wno-array-bounds -Wno-stringop-overflow"),
    Row("clang-native", "clang++-19", flags="-O3 -march=native"),
    Row("g++-avx512", "g++-12", flags="-march=x86-64-v4", cpu="x86_64", cpu_has=AVX512),
    Row("clang-avx512", "clang++-19", flags="-march=x86-64-v4", cpu="x86_64", cpu_has=AVX512),
    Row("g++-lto", "g++-12", flags="-flto=auto", link="-Werror=odr -Werror=lto-type-mismatch",
        options=LTO),
    Row("clang-lto", "clang++-19", flags="-flto=thin", link="-fuse-ld=lld", packages=("lld-19", "llvm-19"),
        options=LTO),
    Row("g++-cet", "g++-12", flags="-fcf-protection=full", cpu="x86_64", proof=NO_SHADOW_STACK),
    Row("clang-cet", "clang++-19", flags="-fcf-protection=full", cpu="x86_64", proof=NO_SHADOW_STACK),
    Row("g++-hardened", "g++-12", flags=HARDENED, link="-Wl,-z,relro,-z,now",
        link_programs="-pie"),
    Row("clang-hardened", "clang++-19", flags=HARDENED, link="-Wl,-z,relro,-z,now",
        link_programs="-pie"),
    # The gate has clang's sanitizers.
    Row("g++-asan", "g++-12", flags="-fsanitize=address,undefined -Wno-maybe-uninitialized", options=ASAN),
    Row("g++-tsan", "g++-12", flags="-fsanitize=thread", options=TSAN),
    Row("gold", "g++-12", link="-fuse-ld=gold", packages=("binutils",),
        proof=("-S", r"gnu\.gold-version", True)),
    Row("lld", "g++-12", link="-fuse-ld=lld", packages=("lld",), proof=("-p.comment", "LLD", True)),
    Row("clang-lld", "clang++-19", link="-fuse-ld=lld", packages=("lld-19",),
        proof=("-p.comment", "LLD 19", True)),
    Row("mold", "g++-12", link="-fuse-ld=mold", packages=("mold",),
        proof=("-p.comment", "mold", True)),
    Row("static", "g++-12", link_programs="-static", options=STATIC, proof=NO_LOADER),
    Row("static-pie", "g++-12", link_programs="-static-pie", options=STATIC, proof=NO_LOADER),
]


class Failure(Exception):
    pass


def run(log, command, **options):
    """What a command says, which goes to the log as well."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False, cwd=ROOT, **options)
    log.write(f"$ {' '.join(map(str, command))}\n{done.stdout}\n")
    log.flush()
    return done


def must_run(log, what, command, **options):
    done = run(log, command, **options)
    if done.returncode != 0:
        raise Failure(what)
    return done.stdout


def version(compiler):
    said = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.search(r"\b\d+\.\d+\.\d+", said)[0]
    return f"{compiler.rsplit('-', 1)[0]} {number}"


def configure(log, row, tree):
    return run(log, [
        "cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={row.compiler}",
        f"-DCMAKE_CXX_STANDARD={row.standard}",
        f"-DCMAKE_CXX_FLAGS=-O2 {row.flags}", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-g1 -DNDEBUG",
        f"-DCMAKE_EXE_LINKER_FLAGS={row.link} {row.link_programs}",
        f"-DCMAKE_SHARED_LINKER_FLAGS={row.link}", f"-DSLEY_TEST_PREFIX={row.name}.", *OPTIONS,
        *row.options])


def must_be_refused(log, row, tree):
    done = configure(log, row, tree)
    if done.returncode == 0 or row.refused not in " ".join(done.stdout.split()):
        raise Failure("not refused by CMake")


def check_headers(log, row, tree):
    headers = sorted(p.name for p in (ROOT / "include/sley").glob("*.hpp")
                     if p.stem not in OTHER_HEADERS)
    source = tree / "headers.cpp"
    source.write_text("".join(f"#include <sley/{name}>\n" for name in headers))
    must_run(log, "headers", [
        row.compiler, "-O2", f"-std=c++{row.standard}", *row.flags.split(), *WARNINGS, f"-I{tree}/include",
        f"-I{ROOT}/include", "-fsyntax-only", source])


def check_proof(log, row, tree):
    if not row.proof:
        return
    option, pattern, must_match = row.proof
    said = must_run(log, "readelf", ["readelf", "-W", option, tree / "tests/conformance_chan"])
    if bool(re.search(pattern, said)) != must_match:
        raise Failure(f"readelf {option} of a program: {pattern} is {'not ' * must_match}there")


def missing_features(row):
    """Of the CPU."""
    features = set(Path("/proc/cpuinfo").read_text().split()) if row.cpu_has else set()
    return [name for name in row.cpu_has if name not in features]


def run_tests(log, tree):
    """(how many passed, how many there are); those that failed, as text"""
    said = run(log, ["ctest", "--test-dir", tree, "--output-on-failure", "--no-tests=error",
                     "-j", str(2 * JOBS)]).stdout
    counts = re.search(r"(\d+) tests failed out of (\d+)", said)
    if not counts:
        raise Failure("ctest")
    failed, all_of_them = int(counts[1]), int(counts[2])
    names = re.findall(r"^\s+\d+ - (\S+) \(", said, flags=re.M)  # CMake 4 has labels behind the reason
    return f"{all_of_them - failed} of {all_of_them}", ", ".join(names)


def use_installed(log, row, tree):
    """find_package() from another project, with the row's compiler and flags."""
    libdir = re.search(r"^CMAKE_INSTALL_LIBDIR:\w+=(.*)$", (tree / "CMakeCache.txt").read_text(),
                       flags=re.M)[1]
    must_run(log, "find_package", [
        "bash", ROOT / "tests/package/find_package.sh", tree, tree / "package", row.compiler, libdir],
        env={**os.environ, "CXXFLAGS": f"-O2 {row.flags}", "LDFLAGS": f"{row.link} {row.link_programs}"})


def build_and_test(log, row, tree, result):
    """Fills in the row's columns as far as it gets."""
    if configure(log, row, tree).returncode != 0:
        raise Failure("CMake")
    check_headers(log, row, tree)
    result["headers"] = "no warning"
    must_run(log, "build", ["cmake", "--build", tree, "-j", str(JOBS)])
    check_proof(log, row, tree)
    result["built"] = "yes"
    if missing := missing_features(row):
        result["remark"] = f"built only: this CPU has no {', '.join(missing)}"
        return
    result["tests"], failed = run_tests(log, tree)
    if failed:
        raise Failure(f"failed: {failed}")
    use_installed(log, row, tree)
    result["installed"] = "yes"


def not_to_be_had(row):
    if row.cpu not in ("", platform.machine()):
        return f"for {row.cpu} alone"
    return "" if shutil.which(row.compiler) else "not to be had here"


def objects_of(row):
    """What decides how the objects look. Rows that differ in how they link alone share a tree."""
    return row.compiler, row.standard, row.flags


def result_in_suite(row):
    """The row's result from this program within the suite, which finds the compiler installed."""
    wanted = SUITE_PACKAGES.union(*(packages_of(other) for other in ROWS if other.suite == row.suite))
    saved = FOLDER / f"{row.name}.json"
    saved.unlink(missing_ok=True)
    with open(FOLDER / f"{row.suite}.log", "w", encoding="utf-8") as log:
        done = run(log, [
            ROOT / "tools/matrix/suite.sh", row.suite, *sorted(wanted), "--",
            "env", f"JOBS={JOBS}", "python3", "-B", Path(__file__).resolve(), row.name])
    if saved.exists():
        result = json.loads(saved.read_text())
        return {**result, "remark": ", ".join(filter(None, (f"in {row.suite}", result.get("remark"))))}
    last_line = (done.stdout.splitlines() or ["nothing said"])[-1]
    is_there = done.returncode != NO_SUITE
    return {"compiler": row.compiler, "failed": is_there,
            "remark": f"**FAILED**: {last_line}" if is_there else f"not to be had here: {last_line}"}


def result_of(row):
    if row.suite and not shutil.which(row.compiler):
        return result_in_suite(row)
    result = {"compiler": row.compiler, "failed": False}
    if reason := not_to_be_had(row):
        return {**result, "remark": reason}
    result["compiler"] = version(row.compiler)
    tree = FOLDER / next(other.name for other in ROWS if objects_of(other) == objects_of(row))
    tree.mkdir(parents=True, exist_ok=True)
    # It has what an earlier configuration has found.
    (tree / "CMakeCache.txt").unlink(missing_ok=True)
    with open(FOLDER / f"{row.name}.log", "w", encoding="utf-8") as log:
        try:
            if row.refused:
                must_be_refused(log, row, tree)
                result["built"] = "refused"
            else:
                build_and_test(log, row, tree, result)
        except Failure as failure:
            result.update(failed=True, remark=f"**FAILED**: {failure}")
    return result


# --- packages ------------------------------------------------------------------------------------

def known_to_apt():
    if not shutil.which("apt-cache"):
        return set()
    return set(subprocess.run(["apt-cache", "pkgnames"], capture_output=True, text=True,
                              check=True).stdout.split())


def packages_of(row):
    return row.compiler.replace("clang++", "clang"), *row.packages


def packages(rows):
    """A row with a suite needs what unpacks the suite, if this Debian has no such compiler."""
    known = known_to_apt()
    wanted = {name for row in rows for name in packages_of(row)}
    if any(row.suite and packages_of(row)[0] not in known for row in rows):
        wanted.add("mmdebstrap")
    return sorted(wanted & known)


# --- the table -----------------------------------------------------------------------------------

COLUMNS = ("compiler", "built", "headers", "tests", "installed", "remark")


def flags_of(row):
    standard = [f"-std=c++{row.standard}"] if row.standard != "20" else []
    words = " ".join([*standard, row.flags, row.link, row.link_programs]).split()
    return f"`{' '.join(words)}`" if words else ""


def system():
    release = Path("/etc/os-release").read_text()
    name = re.search(r'^PRETTY_NAME="?(.*?)"?$', release, flags=re.M)[1]
    kernel = ".".join(platform.release().split(".")[:2])
    return f"{name}, Linux {kernel}, {platform.machine()}"


def table():
    """The last result of each row."""
    lines = [f"On {system()}; each row's tests run at 1 and 4 Ps:", "",
             "| row | compiler | flags | built | headers | tests | installed | remark |",
             "|" + "---|" * 8]
    for row in ROWS:
        saved = FOLDER / f"{row.name}.json"
        result = json.loads(saved.read_text()) if saved.exists() else {
            "compiler": row.compiler, "remark": "not run"}
        compiler, *others = (result.get(column, "") for column in COLUMNS)
        lines.append(f"| {' | '.join([row.name, compiler, flags_of(row), *others])} |")
    return "\n".join(lines) + "\n"


def record(text):
    page = PAGE.read_text()
    begin, end = "<!-- ./dev matrix --record -->\n", "<!-- to here -->\n"
    before, after = page.split(begin)[0], page.split(end)[1]
    PAGE.write_text(f"{before}{begin}{text}{end}{after}")


def main(arguments):
    names = [word for word in arguments if not word.startswith("-")]
    if set(arguments) - set(names) - {"--record", "--packages"}:
        sys.exit(__doc__)
    if unknown := set(names) - {row.name for row in ROWS}:
        sys.exit(f"no such row: {', '.join(sorted(unknown))}; "
                 f"there are {' '.join(row.name for row in ROWS)}")
    rows = [row for row in ROWS if row.name in names or not names]
    if "--packages" in arguments:
        sys.stdout.writelines(f"{name}\n" for name in packages(rows))
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    has_failed = False
    for row in rows:
        began = time.monotonic()
        result = result_of(row)
        (FOLDER / f"{row.name}.json").write_text(json.dumps(result))
        has_failed |= result["failed"]
        said = ", ".join(filter(None, (result.get(column) for column in COLUMNS)))
        print(f"{row.name}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    (FOLDER / "table.md").write_text(table())
    print(table())
    if "--record" in arguments:
        record(table())
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
