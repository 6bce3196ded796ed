#!/usr/bin/env bash
# An installed sley, moved to another place, serves a CMake project.
set -euo pipefail
. "$(dirname "$0")/common.sh"
install_moved

configure_consumer() {  # tree, options...
  local tree=$1
  shift
  cmake -S "$here/consumer" -B "$tree" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix" "$@" >"$tree.log" 2>&1
}

mapfile -t parts < <(components)
list=$(IFS=';' && echo "${parts[*]}")
for form in a so; do
  built libsley.$form || continue
  tree=$scratch/consumer-$form
  configure_consumer "$tree" -DCOMPONENTS="$list" \
    -DBUILD_SHARED_LIBS="$([[ $form == so ]] && echo ON || echo OFF)" \
    && cmake --build "$tree" >>"$tree.log" || { cat "$tree.log"; exit 1; }
  run_and_compare "$tree/consumer"
  for part in "${parts[@]}"; do run_and_compare "$tree/${part}_consumer"; done
  overflows "$tree/overflow_consumer"
  overflows "$tree/overflow_consumer" in_c
done

# A component that is not there is named.
if configure_consumer "$scratch/missing" -DCOMPONENTS=quic; then
  fail "the component quic was found"
fi
grep -q "built without the component quic" "$scratch/missing.log" || {
  cat "$scratch/missing.log"
  fail "no word of the component quic"
}
