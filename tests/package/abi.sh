#!/usr/bin/env bash
# What `./dev abi` compares by: tools/abi/compare.sh finds what breaks a program, on a library of a few
# lines, and nothing else.
set -euo pipefail
. "$(dirname "$0")/common.sh"
command -v abidiff >/dev/null || { echo "skipped: there is no abidiff (Debian: abigail-tools)"; exit 77; }
rm -rf "$scratch"

# tiny NAME EDIT   a prefix with a library, after an edit of sed's
tiny() {
  local prefix=$scratch/$1
  mkdir -p "$prefix/include" "$prefix/lib"
  cat >"$prefix/include/tiny.hpp" <<'END'
#pragma once
namespace tiny {
struct hidden;
struct point { int x; int y; };
int length(const point& p);
int area(const point& p, hidden* h);
}
END
  cat >"$prefix/tiny.cpp" <<'END'
#include "include/tiny.hpp"
namespace tiny {
struct hidden { int count; };
int length(const point& p) { return p.x; }
int area(const point& p, hidden* h) { return p.x * p.y * h->count; }
}
END
  sed -i "$2" "$prefix/include/tiny.hpp" "$prefix/tiny.cpp"
  (cd "$prefix" && "$cxx" -g -fPIC -shared tiny.cpp -o lib/libtiny.so)
}

# compared STATUS NAME [WORDS]   with the library as it was
compared() {
  local status=0
  bash "$here/../../tools/abi/compare.sh" "$scratch/old" "$scratch/$2" >"$scratch/log" 2>&1 || status=$?
  [[ $status == "$1" && $(<"$scratch/log") == *"${3:-}"* ]] || {
    cat "$scratch/log"
    fail "$2: status $status and not $1, or no word of ${3:-it}"
  }
  echo "ok: $2"
}

tiny old ''
tiny same 's/count/number/g'
tiny larger_hidden 's/int count;/int count; long more;/'
tiny added 's/^int length(const point& p)\(;\| {.*\)/&\nint perimeter()\1/; s/perimeter() {.*/perimeter() { return 0; }/'
tiny removed '/^int length/d'
tiny layout 's/int x; int y;/long x; int y;/'
tiny argument 's/length(const point& p)/length(point\& p)/'
tiny gone ''
rm "$scratch/gone/lib/libtiny.so"
tiny broken ''
echo 'no library' >"$scratch/broken/lib/libtiny.so"

compared 0 same
compared 0 larger_hidden
compared 0 added
compared 1 removed "tiny::length"
compared 1 layout "tiny::point"
compared 1 argument "tiny::length"
compared 1 gone "libtiny.so is gone"
compared 2 broken
