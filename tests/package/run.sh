#!/usr/bin/env bash
# Install sley into a prefix, move the prefix, and build and run a program against it there.
#   run.sh find_package|pkg_config BUILD_TREE SCRATCH_DIR COMPILER LIBDIR
set -euo pipefail
way=$1 build=$2 scratch=$3 cxx=$4 libdir=$5
here=$(cd "$(dirname "$0")" && pwd)
prefix=$scratch/moved

rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/installed" >"$scratch/install.log"
mv "$scratch/installed" "$prefix"

built() { [[ -e $prefix/$libdir/$1 ]]; }

run_and_compare() {
  local out
  out=$("$@")
  [[ $out == "hello from the installed sley" ]] || { echo "unexpected output of $*: $out"; exit 1; }
  echo "ok: $*"
}

case $way in
  find_package)
    for shared in OFF ON; do
      if [[ $shared == OFF ]]; then built libsley.a || continue; else built libsley.so || continue; fi
      tree=$scratch/consumer-shared-$shared
      cmake -S "$here/consumer" -B "$tree" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=$shared >"$tree.log"
      cmake --build "$tree" >>"$tree.log" || { cat "$tree.log"; exit 1; }
      run_and_compare "$tree/consumer"
    done
    ;;
  pkg_config)
    export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    read -ra cflags < <(pkg-config --cflags sley)
    read -ra libs < <(pkg-config --libs sley)
    if built libsley.so; then
      "$cxx" -std=c++20 "${cflags[@]}" "$here/consumer/main.cpp" "${libs[@]}" \
        "-Wl,-rpath,$prefix/$libdir" -o "$scratch/linked-shared"
      run_and_compare "$scratch/linked-shared"
    fi
    if built libsley.a; then
      rm -f "$prefix/$libdir"/libsley.so*
      "$cxx" -std=c++20 "${cflags[@]}" "$here/consumer/main.cpp" "${libs[@]}" \
        -o "$scratch/linked-static"
      run_and_compare "$scratch/linked-static"
    fi
    ;;
  *)
    echo "unknown way: $way"
    exit 2
    ;;
esac
