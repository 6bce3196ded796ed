# What the scripts beside this one share. Sourced with: BUILD_TREE SCRATCH_DIR COMPILER LIBDIR
build=$1 scratch=$2 cxx=$3 libdir=$4
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$scratch/moved
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig

fail() { printf 'FAILED: %s\n' "$*"; exit 1; }

# install_moved   sley, moved to another place than it was installed to
install_moved() {
  rm -rf "$scratch"
  mkdir -p "$scratch"
  cmake --install "$build" --prefix "$scratch/installed" >"$scratch/install.log"
  mv "$scratch/installed" "$prefix"
}

built() { [[ -e $prefix/$libdir/$1 ]]; }

# The components that are installed, of those that find_package() and pkg-config both know.
components() {
  local part
  for part in http tls; do
    [[ ! -e $prefix/$libdir/pkgconfig/sley-$part.pc ]] || echo "$part"
  done
}

run_and_compare() {
  local out
  out=$(timeout 60 "$@") || fail "status $? of $*: $out"
  [[ $out == "hello from the installed sley" ]] || fail "unexpected output of $*: $out"
  echo "ok: $*"
}

# overflows PROGRAM [ARGUMENTS]   it ends with the report of a stack overflow
overflows() {
  local out status=0
  out=$(timeout 60 "$@" 2>&1) || status=$?
  [[ $status == 2 && $out == *"stack overflow"* ]] || fail "status $status of $*: $out"
  echo "ok: $* overflows"
}
