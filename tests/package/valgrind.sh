#!/usr/bin/env bash
# A program with an installed sley runs under Valgrind as it is, and without one false report.
set -euo pipefail
. "$(dirname "$0")/common.sh"
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
grep -q '^SLEY_VALGRIND:BOOL=ON' "$build/CMakeCache.txt" || { echo "skipped: it is off"; exit 77; }
install_moved
# Valgrind 3.19 gives up at the debug information that clang 19 writes.
find "$prefix/$libdir" -type f -name 'libsley*' -exec strip --strip-debug {} +

for source in main stacks; do
  read -ra cflags < <(pkg-config --cflags sley)
  read -ra libs < <(pkg-config --libs sley)
  "$cxx" -std=c++20 "${cflags[@]}" "$here/consumer/$source.cpp" "${libs[@]}" \
    "-Wl,-rpath,$prefix/$libdir" -o "$scratch/$source"
  run_and_compare valgrind --log-file="$scratch/$source.log" --error-exitcode=99 "$scratch/$source"
  ! grep -qi 'warning\|invalid\|uninitiali' "$scratch/$source.log" \
    || { cat "$scratch/$source.log"; fail "$source: reports of Valgrind"; }
done
