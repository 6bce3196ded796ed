#!/usr/bin/env bash
# Plugins with a copy of sley each: a program may unload them.
set -euo pipefail
. "$(dirname "$0")/common.sh"
install_moved

read -ra cflags < <(pkg-config --cflags sley)
for form in a so; do
  built libsley.$form || continue
  for name in one two; do
    "$cxx" -std=c++20 -fPIC -shared "${cflags[@]}" "-DNAME=$name" "$here/plugins/plugin.cpp" \
      "$prefix/$libdir/libsley.$form" "-Wl,-rpath,$prefix/$libdir" -o "$scratch/$name-$form.so"
  done
  "$cxx" -std=c++20 "$here/plugins/host.cpp" -ldl -o "$scratch/host"
  run_and_compare "$scratch/host" "$scratch/one-$form.so:run_one" "$scratch/two-$form.so:run_two"
done
