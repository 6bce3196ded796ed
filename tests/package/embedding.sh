#!/usr/bin/env bash
# A project embeds sley in a way, the last argument (add_subdirectory or fetch_content), and stays as it
# is: see embedding/CMakeLists.txt. What it builds of sley, embedded.sh compiles.
set -euo pipefail
. "$(dirname "$0")/common.sh"
way=$5
rm -rf "$scratch"
mkdir -p "$scratch"
tree=$scratch/tree

# Without a network, where a user may take it away.
alone=()
! unshare -rn true 2>/dev/null || alone=(unshare -rn)

"${alone[@]}" cmake -S "$here/embedding" -B "$tree" -G Ninja -DWAY="$way" \
  -DSLEY_DIR="$(cd "$here/../.." && pwd)" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >"$scratch/log" 2>&1 \
  || { cat "$scratch/log"; fail "the project is not as it was"; }
[[ ! -e $tree/CPackConfig.cmake ]] || fail "the project can be packed"

# Its own file has no flag of sley's, its build no file of sley's, and its tests and installation neither.
command=$(grep '"command": .*alone\.cpp' "$tree/compile_commands.json")
[[ $command != *sley* && $command != *-std=* && $command != *" -f"* && $command != *" -W"* ]] \
  || fail "the project's own file is compiled by $command"
[[ $(ninja -C "$tree" -t commands all) != *libsley* ]] || fail "sley is built unasked"
cmake --build "$tree" >"$scratch/log"
grep -q '^Total Tests: 1$' <<<"$(ctest --test-dir "$tree" -N)" || fail "$(ctest --test-dir "$tree" -N)"
cmake --install "$tree" --prefix "$scratch/installed" >"$scratch/log"
[[ $(cd "$scratch/installed" && find . -type f) == ./bin/alone ]] \
  || fail "installed: $(find "$scratch/installed" -type f)"

# The program's build makes and links what it needs of sley.
grep -q -- '-o program .*libsley\.a' <<<"$(ninja -C "$tree" -t commands program)" \
  || fail "the program does not link sley"
echo "ok: $way"
