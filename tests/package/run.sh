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

tls=OFF
[[ ! -e $prefix/$libdir/pkgconfig/sley-tls.pc ]] || tls=ON

built() { [[ -e $prefix/$libdir/$1 ]]; }

run_and_compare() {
  local out
  out=$("$@")
  [[ $out == "hello from the installed sley" ]] || { echo "unexpected output of $*: $out"; exit 1; }
  echo "ok: $*"
}

# link_and_run FORM PKG_CONFIG_OPTION LINKER_OPTIONS...   the programs by what pkg-config says
link_and_run() {
  local form=$1 option=$2 name source cflags libs
  shift 2
  for name in sley $([[ $tls == OFF ]] || echo sley-tls); do
    source=$([[ $name == sley ]] && echo main.cpp || echo tls.cpp)
    # shellcheck disable=SC2086  # empty, or one word
    read -ra cflags < <(pkg-config --cflags $option "$name")
    # shellcheck disable=SC2086
    read -ra libs < <(pkg-config --libs $option "$name")
    "$cxx" -std=c++20 "${cflags[@]}" "$here/consumer/$source" "${libs[@]}" "$@" \
      -o "$scratch/$name-$form"
    run_and_compare "$scratch/$name-$form"
  done
}

case $way in
  find_package)
    for shared in OFF ON; do
      if [[ $shared == OFF ]]; then built libsley.a || continue; else built libsley.so || continue; fi
      tree=$scratch/consumer-shared-$shared
      cmake -S "$here/consumer" -B "$tree" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=$shared -DWITH_TLS="$tls" >"$tree.log"
      cmake --build "$tree" >>"$tree.log" || { cat "$tree.log"; exit 1; }
      run_and_compare "$tree/consumer"
      [[ $tls == OFF ]] || run_and_compare "$tree/tls_consumer"
    done
    ;;
  pkg_config)
    export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
    if built libsley.so; then
      link_and_run shared "" "-Wl,-rpath,$prefix/$libdir"
    fi
    if built libsley.a; then
      rm -f "$prefix/$libdir"/libsley*.so*
      link_and_run static --static
    fi
    ;;
  *)
    echo "unknown way: $way"
    exit 2
    ;;
esac
