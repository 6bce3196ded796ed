#!/usr/bin/env bash
# The libraries show names of sley and no other library's, need what the README says, and do not say
# where they were built. The headers have nothing that is for the tests alone.
set -euo pipefail
. "$(dirname "$0")/common.sh"
install_moved

needs() {  # library, allowed names as a regular expression
  local other
  other=$(readelf -d "$prefix/$libdir/lib$1.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' \
    | grep -vE "^($2|libc|libstdc\+\+|libgcc_s|libm|ld-linux[a-z0-9-]*)\.so" || true)
  [[ -z $other ]] || fail "lib$1.so needs $other"
}

for name in $(cd "$prefix/$libdir" && printf '%s\n' lib*.so lib*.a | sed -n 's/^lib\([^*]*\)\.\(so\|a\)$/\1/p' | sort -u); do
  if built lib$name.so; then
    foreign=$(nm -DC --defined-only "$prefix/$libdir/lib$name.so" \
      | grep -vE '^[0-9a-f]+ [TRBDVW] (sley::|(typeinfo|typeinfo name|vtable) for sley::)' || true)
    [[ -z $foreign ]] || fail "lib$name.so exports $foreign"
    grep -q NODELETE <<<"$(readelf -d "$prefix/$libdir/lib$name.so")" || fail "lib$name.so: no NODELETE"
  fi
  if built lib$name.a; then
    foreign=$(nm -C --defined-only "$prefix/$libdir/lib$name.a" 2>/dev/null \
      | sed -nE 's/^[0-9a-f]+ [A-Zuvw] (.*)/\1/p' | grep -E '\bboost::|^(backtrace_|inflate|deflate)' || true)
    [[ -z $foreign ]] || fail "lib$name.a defines $foreign"
    # Names that are no templates' and no inline functions', which every program may have as well. In
    # a simulation the program's own sleeps take no time.
    own='sley::|sley_|(typeinfo|typeinfo name|vtable|guard variable) for sley::'
    [[ $name != sley-testing ]] || own+='|(clock_gettime|clock_nanosleep|nanosleep|sched_yield|u?sleep)$'
    foreign=$(nm -C --defined-only "$prefix/$libdir/lib$name.a" 2>/dev/null \
      | sed -nE 's/^[0-9a-f]+ [TDBRG] (.*)/\1/p' \
      | grep -vE "^($own)" || true)
    [[ -z $foreign ]] || fail "lib$name.a defines $foreign"
  fi
done

# Neither in messages nor in debug information, nor in the files of the packages.
sources=$(cd "$here/../.." && pwd)
tree=$(cd "$build" && pwd)
said=$(grep -rlaF -e "$sources/" -e "$tree/" -e "$scratch/installed" "$prefix" || true)
[[ -z $said ]] || fail "these say where they were built: $said"

if built libsley.so; then
  needs sley 'libsley'
  [[ ! -e $prefix/$libdir/libsley-http.so ]] || needs sley-http 'libsley|libz'
  [[ ! -e $prefix/$libdir/libsley-tls.so ]] || needs sley-tls 'libsley|libssl|libcrypto'
fi

for_tests=$(grep -rlE 'relacy|\brl::|SLEY_MODEL|mutated_label' "$prefix/include" || true)
[[ -z $for_tests ]] || fail "parts of the model checker are installed: $for_tests"
echo "ok"
