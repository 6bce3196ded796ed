#!/usr/bin/env bash
# A project embeds sley by add_subdirectory, with link-time optimisation where the compiler has it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
rm -rf "$scratch"
mkdir -p "$scratch"
tree=$scratch/tree

# Of the same kind as the C++ compiler, because objects of different ones can't be optimised together.
c=${cxx/clang++/clang}
cmake -S "$here/parent" -B "$tree" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_C_COMPILER="${c/g++/gcc}" -DSLEY_DIR="$here/../.." \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail "the parent can't be configured"
}

# Nothing of sley that no target of the parent asks for.
cmake --build "$tree" >>"$scratch/log"
[[ -z $(find "$tree" -name "libsley*" -o -path "$tree/sley/*.o") ]] || fail "sley was built unasked"

for part in http tls testing; do
  ! cmake --build "$tree" --target use_$part >"$scratch/log" 2>&1 || fail "<sley/$part.hpp> compiles"
  grep -q "this sley was built without it" "$scratch/log" || {
    cat "$scratch/log"
    fail "no word of why <sley/$part.hpp> does not compile"
  }
done

cmake --build "$tree" --target program overflow >"$scratch/log" 2>&1 || {
  cat "$scratch/log"
  fail "the programs do not link"
}
run_and_compare "$tree/program"
overflows "$tree/overflow"
overflows "$tree/overflow" in_c
