#!/usr/bin/env bash
# import.sh SOURCES BUILD_TREE SCRATCH CLANG LIBRARY FLAGS...   a program with `import sley;` builds by
# hand, as CMake 3.28 would build it, and runs.
set -euo pipefail
sources=$1 build=$2 scratch=$3 clang=$4 library=$5
flags=(-std=c++20 -O0 -fstack-clash-protection -pthread -I"$sources/include" -I"$build/include" "${@:6}")

rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
"$clang" "${flags[@]}" --precompile "$sources/modules/sley.cppm" -o sley.pcm
"$clang" -O0 -c sley.pcm -o sley.o
"$clang" "${flags[@]}" -fmodule-file=sley=sley.pcm -c "$sources/tests/module/main.cpp" -o main.o
"$clang" main.o sley.o "$library" -pthread -o main
timeout 60 ./main
