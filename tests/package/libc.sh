#!/usr/bin/env bash
# A C library that sley does not run on is refused when sley is configured, and the message says why.
set -euo pipefail
. "$(dirname "$0")/common.sh"
rm -rf "$scratch"
mkdir -p "$scratch"

# refuses WHAT COMPILER [FLAGS]
refuses() {
  local log=$scratch/$1.log
  ! cmake -S "$here/../.." -B "$scratch/$1" -G Ninja -DCMAKE_CXX_COMPILER="$2" \
    -DCMAKE_CXX_FLAGS="${3-}" -DSLEY_TESTS=OFF -DSLEY_BENCH=OFF -DSLEY_EXAMPLES=OFF >"$log" 2>&1 \
    || fail "$1 is accepted"
  # CMake breaks the lines of a message.
  grep -q "sley needs glibc 2.34 or newer: .* With musl, " <<<"$(tr -s ' \n' ' ' <"$log")" \
    || { cat "$log"; fail "$1 is refused for another reason"; }
  echo "ok: $1 is refused"
}

# features LIBRARY [LINE]   a compiler's flags for which <features.h> is that of this library
features() {
  mkdir -p "$scratch/include-$1"
  printf '%s\n' "${2-}" >"$scratch/include-$1/features.h"
  printf '%s' "-I$scratch/include-$1"
}

# musl's says nothing of itself.
refuses other "$cxx" "$(features other)"
refuses glibc-2.33 "$cxx" "$(features glibc-2.33 $'#define __GLIBC__ 2\n#define __GLIBC_MINOR__ 33')"
! command -v musl-gcc >/dev/null || refuses musl musl-gcc
