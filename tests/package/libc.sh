#!/usr/bin/env bash
# A C or C++ library that sley does not run on is refused when sley is configured, and the message says
# why.
set -euo pipefail
. "$(dirname "$0")/common.sh"
rm -rf "$scratch"
mkdir -p "$scratch"

needs_glibc="sley needs glibc 2.34 or newer: .* With musl, "
needs_libstdcxx="sley needs libstdc++: .* With libc++, "

# refuses WHAT WORDS COMPILER [FLAGS]   with these words
refuses() {
  local log=$scratch/$1.log
  ! cmake -S "$here/../.." -B "$scratch/$1" -G Ninja -DCMAKE_CXX_COMPILER="$3" \
    -DCMAKE_CXX_FLAGS="${4-}" -DSLEY_TESTS=OFF -DSLEY_BENCH=OFF -DSLEY_EXAMPLES=OFF >"$log" 2>&1 \
    || fail "$1 is accepted"
  # CMake breaks the lines of a message.
  grep -q "$2" <<<"$(tr -s ' \n' ' ' <"$log")" \
    || { cat "$log"; fail "$1 is refused for another reason"; }
  echo "ok: $1 is refused"
}

# header NAME LIBRARY [LINE]   a compiler's flags for which the header <NAME> is that of this library
header() {
  mkdir -p "$scratch/include-$2"
  printf '%s\n' "${3-}" >"$scratch/include-$2/$1"
  printf '%s' "-I$scratch/include-$2"
}

# musl's <features.h> says nothing of itself, and no <cstddef> but libstdc++'s says that it is of libstdc++.
refuses other "$needs_glibc" "$cxx" "$(header features.h other)"
refuses glibc-2.33 "$needs_glibc" "$cxx" \
  "$(header features.h glibc-2.33 $'#define __GLIBC__ 2\n#define __GLIBC_MINOR__ 33')"
refuses libc++ "$needs_libstdcxx" "$cxx" "$(header cstddef libc++)"
! command -v musl-gcc >/dev/null || refuses musl "$needs_glibc" musl-gcc
