#!/usr/bin/env bash
# sley is built, installed and found in a way that few use, the last argument:
#   destdir        into a folder that stands for the root of another system
#   makefiles      with Unix Makefiles, by both sides
#   multi_config   Debug and Release of one build tree, into one prefix
#   spaces         every path has spaces
#
# The library is not compiled anew: the build makes empty objects (stand_in.sh), and what has been
# installed gets the libraries that the tree of the tests has built.
set -euo pipefail
. "$(dirname "$0")/common.sh"
way=$5
rm -rf "$scratch"
mkdir -p "$scratch"

# quietly COMMAND...   what it prints is shown if it fails
quietly() {
  "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log"; fail "status of $*"; }
}

# build_sley SOURCES TREE OPTIONS...
build_sley() {
  local sources=$1 tree=$2 part options=()
  shift 2
  for part in TESTS BENCH EXAMPLES INSPECT TESTING; do options+=("-DSLEY_$part=OFF"); done
  quietly cmake -S "$sources" -B "$tree" -DCMAKE_CXX_COMPILER="$cxx" -DSLEY_UNITY=ON \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$here/stand_in.sh" \
    -DCMAKE_ASM_COMPILE_OBJECT="'$here/stand_in.sh' <CMAKE_ASM_COMPILER> -o <OBJECT>" \
    "${options[@]}" "$@"
}

# fill PREFIX   real libraries for those of empty objects
fill() {
  local name
  for name in sley sley-http sley-tls; do
    [[ ! -e $1/$libdir/lib$name.a ]] || cp "$build/lib$name.a" "$1/$libdir/lib$name.a"
    [[ ! -e $1/$libdir/lib${name}d.a ]] || cp "$build/lib$name.a" "$1/$libdir/lib${name}d.a"
    [[ ! -e $1/$libdir/lib$name.so ]] || cp -P "$build/lib$name".so* "$1/$libdir"
  done
}

# find_sley PREFIX TREE OPTIONS...   a project that has found it there
find_sley() {
  local prefix=$1 tree=$2
  shift 2
  quietly cmake -S "$here/consumer" -B "$tree" -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix" "$@"
}

files_of() { (cd "$1" && find . ! -type d | sort); }

try_destdir() {
  install_moved
  DESTDIR=$scratch/stage quietly cmake --install "$build" --prefix /opt/sley
  diff <(files_of "$prefix") <(files_of "$scratch/stage/opt/sley") \
    || fail "not the same files as without DESTDIR"
  [[ $(files_of "$scratch/stage" | grep -v '^\./opt/sley/') == "" ]] || fail "files beside the prefix"
  ! grep -rlF "$scratch/stage" "$scratch/stage" || fail "these name DESTDIR"
  find_sley "$scratch/stage/opt/sley" "$scratch/consumer" -G Ninja
  [[ $(PKG_CONFIG_PATH=$scratch/stage/opt/sley/$libdir/pkgconfig \
    PKG_CONFIG_SYSROOT_DIR=$scratch/stage pkg-config --cflags sley) != *"$scratch/stage$scratch"* ]] \
    || fail "pkg-config puts the root before itself"
}

try_makefiles() {
  command -v make >/dev/null || { echo "skipped: there is no make"; exit 77; }
  build_sley "$here/../.." "$scratch/tree" -G "Unix Makefiles" -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$scratch/tree" -j2
  quietly cmake --install "$scratch/tree" --prefix "$prefix"
  fill "$prefix"
  find_sley "$prefix" "$scratch/consumer" -G "Unix Makefiles"
  quietly cmake --build "$scratch/consumer" --target consumer
  run_and_compare "$scratch/consumer/consumer"
}

try_multi_config() {
  local type form tree
  build_sley "$here/../.." "$scratch/tree" -G "Ninja Multi-Config"
  for type in Debug Release; do
    quietly cmake --build "$scratch/tree" --config $type
    quietly cmake --install "$scratch/tree" --config $type --prefix "$prefix"
  done
  for form in a so; do
    tree=$scratch/consumer-$form
    find_sley "$prefix" "$tree" -G "Ninja Multi-Config" \
      -DBUILD_SHARED_LIBS="$([[ $form == so ]] && echo ON || echo OFF)"
    for type in Debug:libsleyd Release:libsley RelWithDebInfo:libsley; do
      [[ $(<"$tree/library-${type%:*}") == "$prefix/$libdir/${type#*:}.$form"* ]] \
        || fail "${type%:*} found $(<"$tree/library-${type%:*}")"
    done
  done
  fill "$prefix"
  for type in Debug Release; do
    quietly cmake --build "$scratch/consumer-a" --config $type --target consumer
    run_and_compare "$scratch/consumer-a/$type/consumer"
  done
}

try_spaces() {
  local sources="$scratch/the sources" tree="$scratch/a build tree" program="$scratch/a program"
  prefix="$scratch/in there"
  mkdir "$sources"
  (cd "$here/../.." && cp -R CMakeLists.txt LICENSE cmake include modules src tools "$sources")
  build_sley "$sources" "$tree" -G Ninja -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$tree"
  # One file by the real compiler, which has all of the library's flags.
  sed 's|[^ ]*/stand_in\.sh ||' <(ninja -C "$tree" -t commands src/CMakeFiles/sley_debug_objects.dir/debug/metrics.cpp.o) \
    | grep metrics.cpp >"$scratch/metrics.sh"
  (cd "$tree" && quietly bash "$scratch/metrics.sh")
  quietly cmake --install "$tree" --prefix "$prefix"
  fill "$prefix"
  find_sley "$prefix" "$scratch/the consumer" -G Ninja
  quietly cmake --build "$scratch/the consumer" --target consumer
  run_and_compare "$scratch/the consumer/consumer"

  # A shell's word for each: pkg-config escapes the spaces.
  local flags
  flags=$(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags --libs sley)
  eval "$cxx -std=c++20 '$here/consumer/main.cpp' $flags '-Wl,-rpath,$prefix/$libdir' -o '$program'"
  run_and_compare "$program"
}

"try_$way"
echo "ok: $way"
