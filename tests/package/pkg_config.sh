#!/usr/bin/env bash
# An installed sley, moved to another place, serves a pkg-config user.
set -euo pipefail
. "$(dirname "$0")/common.sh"
install_moved

# compile PROGRAM PACKAGE PKG_CONFIG_OPTION SOURCES...
compile() {
  local program=$1 package=$2 option=$3 cflags libs
  shift 3
  # shellcheck disable=SC2086  # empty, or one word
  read -ra cflags < <(pkg-config --cflags $option "$package")
  # shellcheck disable=SC2086
  read -ra libs < <(pkg-config --libs $option "$package")
  "$cxx" -std=c++20 "${cflags[@]}" "$@" "${libs[@]}" "-Wl,-rpath,$prefix/$libdir" -o "$program"
}

link_and_run() {  # form, option of pkg-config
  local part
  compile "$scratch/sley-$1" sley "$2" "$here/consumer/main.cpp"
  run_and_compare "$scratch/sley-$1"
  compile "$scratch/overflow-$1" sley "$2" "$here/consumer/overflow.cpp" -x c++ - \
    <<<'extern "C" char touch_large_frame() { return 0; }'
  overflows "$scratch/overflow-$1"
  for part in $(components); do
    compile "$scratch/$part-$1" "sley-$part" "$2" "$here/consumer/$part.cpp"
    run_and_compare "$scratch/$part-$1"
  done
}

! built libsley.so || link_and_run shared ""
if built libsley.a; then
  rm -f "$prefix/$libdir"/libsley*.so*
  link_and_run static --static
fi

# The simulation takes the place of sley.
if [[ -e $prefix/$libdir/libsley-testing.a ]]; then
  compile "$scratch/testing" sley-testing "" "$here/consumer/testing.cpp"
  run_and_compare "$scratch/testing"
fi

# In a sley without shared libraries every link is a static one, also without --static.
cmake -S "$here/../.." -B "$scratch/static" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
  -DSLEY_BUILD_SHARED=OFF -DSLEY_TESTS=OFF >"$scratch/static.log" 2>&1 \
  || { cat "$scratch/static.log"; exit 1; }
for part in $(components); do
  wanted=$(sed -n 's/^Requires.private: //p' "$prefix/$libdir/pkgconfig/sley-$part.pc")
  [[ -z $wanted ]] || grep -q "^Requires: sley = [0-9.]* $wanted" "$scratch/static/sley-$part.pc" \
    || fail "sley-$part.pc of static libraries does not require $wanted"
done
