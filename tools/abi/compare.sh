#!/usr/bin/env bash
# Compares the ABI of the shared libraries that are installed below two prefixes, in lib and include, as
# far as the public headers show it. What is new breaks no program.
#
# usage: compare.sh OLD NEW    status 0: programs built with OLD run with NEW; 1: some may not, and what
#                              has changed is printed; 2: that could not be found out
set -euo pipefail
old=$1 new=$2 status=0 found=false

for library in "$old"/lib/*.so; do
  [[ -e $library ]] || continue
  found=true
  name=${library##*/} bits=0
  if [[ ! -e $new/lib/$name ]]; then
    echo "$name is gone"
    status=1
    continue
  fi
  # abidiff's status is a set of bits: 1 and 2 are errors, 4 and 8 are changes.
  abidiff --no-added-syms --drop-private-types --headers-dir1 "$old/include" \
    --headers-dir2 "$new/include" "$library" "$new/lib/$name" || bits=$?
  ((bits < 128 && (bits & 3) == 0)) || exit 2
  ((bits == 0)) || status=1
done
$found || { echo "there are no libraries in $old/lib"; exit 2; }
exit $status
