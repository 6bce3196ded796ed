#!/usr/bin/env bash
# The compiler and assembler of tests that ask what a build does with its objects and not what is in
# them: each object is empty. The linker is the real one.
#
# usage: stand_in.sh COMPILER ARGUMENTS...    as a launcher of CMake's
set -euo pipefail
for ((i = 2; i < $#; ++i)); do
  [[ ${!i} == -o ]] || continue
  output=$((i + 1))
  exec "$1" -fPIC -x c++ -c - -o "${!output}" \
    <<<'extern "C" [[gnu::weak]] int sley_backtrace_dl_iterate_phdr() { return 0; }'
done
echo "stand_in.sh: no -o in $*"
exit 1
