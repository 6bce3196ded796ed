#!/usr/bin/env bash
# The Debian packages: what is in them, what they depend on, and programs that are built with what they
# install, and run.
set -euo pipefail
. "$(dirname "$0")/common.sh"
for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
[[ -e $build/libsley.so && -e $build/libsley.a ]] || { echo "skipped: needs both forms"; exit 77; }

rm -rf "$scratch"
mkdir -p "$scratch/debs"
(cd "$build" && cpack -G DEB -B "$scratch/debs") >"$scratch/cpack.log" 2>&1 \
  || { cat "$scratch/cpack.log"; exit 1; }
library=$(echo "$scratch"/debs/libsley[0-9]*.deb)
dev=$(echo "$scratch"/debs/libsley-dev_*.deb)

# ---- what they say ----

field() { dpkg-deb -f "$1" "$2"; }
version=$(field "$library" Version)
[[ $(field "$library" Depends) == *libc6* ]] || fail "the library's package does not name libc6"
[[ $(field "$dev" Depends) == "$(field "$library" Package) (= $version)"* ]] \
  || fail "libsley-dev depends on $(field "$dev" Depends)"

contents() { dpkg-deb -c "$1" | awk '{print $6}'; }
grep -q '/libsley\.so\.[0-9.]*$' <<<"$(contents "$library")" || fail "no shared library in $library"
! contents "$library" | grep -E '\.(hpp|a|cmake|pc|so)$' || fail "these are for libsley-dev"
grep -q '/include/sley/sley\.hpp$' <<<"$(contents "$dev")" || fail "no headers in $dev"
for file in "$library" "$dev"; do
  ! contents "$file" | grep -v '^\./\(usr/\(.*\)\?\)\?$' || fail "these are outside of /usr"
done

# ---- what they install ----

for file in "$library" "$dev"; do dpkg-deb -x "$file" "$scratch/root"; done
prefix=$scratch/root/usr
mapfile -t parts < <(components)
for shared in ON OFF; do
  tree=$scratch/consumer-$shared
  cmake -S "$here/consumer" -B "$tree" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS="$(IFS=';' && echo "${parts[*]}")" \
    -DBUILD_SHARED_LIBS=$shared >"$tree.log" 2>&1 && cmake --build "$tree" --target consumer >>"$tree.log" \
    || { cat "$tree.log"; exit 1; }
  run_and_compare "$tree/consumer"
done
