#!/usr/bin/env bash
# A program that differs from its library in a setting that both must agree on does not link, and the
# linker says in what it differs; other settings are the program's own.
set -euo pipefail
. "$(dirname "$0")/common.sh"
install_moved

# compile PACKAGE FORM FLAGS...   compiles and links the package's program, with the flags last. One
# object serves both forms, if their flags are the same.
compile() {
  local package=$1 form=$2 option="" cflags libs source object
  shift 2
  case $package in
    sley) source=main.cpp ;;
    *) source=${package#sley-}.cpp ;;
  esac
  [[ $form == so ]] || option=--static
  # shellcheck disable=SC2086  # empty, or one word
  read -ra cflags < <(pkg-config --cflags $option "$package")
  # shellcheck disable=SC2086
  read -ra libs < <(pkg-config --libs $option "$package")
  object=$scratch/$(printf '%s\n' "$source" "${cflags[@]}" "$@" | sha1sum | cut -c1-40).o
  [[ -e $object ]] || "$cxx" -std=c++20 "${cflags[@]}" "$@" -c "$here/consumer/$source" -o "$object" &&
    "$cxx" "$@" "$object" "${libs[@]}" "-Wl,-rpath,$prefix/$libdir" -o "$scratch/program"
} >"$scratch/link.log" 2>&1

refused() {  # package, form, words of the message, flags...
  local package=$1 form=$2 words=$3
  shift 3
  ! compile "$package" "$form" "$@" || fail "$package.$form links with $*"
  grep -q "$words" "$scratch/link.log" || {
    cat "$scratch/link.log"
    fail "$package.$form with $*: no word of $words"
  }
  echo "ok: $package.$form is refused with $*"
}

taken() {  # package, form, flags...
  compile "$@" || { cat "$scratch/link.log"; fail "$* does not link"; }
  run_and_compare "$scratch/program"
}

# The package is that of the tree: with checks or without.
opposite_of_checks=(-DSLEY_DEBUG_CHECKS=1)
[[ $(pkg-config --cflags sley) != *SLEY_DEBUG_CHECKS* ]] || opposite_of_checks=(-USLEY_DEBUG_CHECKS)

packages=(sley)
for part in $(components); do packages+=("sley-$part"); done

check_form() {  # a or so
  local form=$1 package
  for package in "${packages[@]}"; do
    refused "$package" "$form" a_program_with_fsanitize_address -fsanitize=address
    refused "$package" "$form" a_program_with_GLIBCXX_DEBUG -D_GLIBCXX_DEBUG
  done
  refused sley "$form" a_program_with_fsanitize_thread -fsanitize=thread
  refused sley "$form" a_program_with_fsanitize_address -fsanitize=address -O2 \
    -ffunction-sections -fdata-sections -Wl,--gc-sections
  refused sley "$form" a_program_with_GLIBCXX_USE_CXX11_ABI_0 -D_GLIBCXX_USE_CXX11_ABI=0
  refused sley "$form" SLEY_DEBUG_CHECKS "${opposite_of_checks[@]}"
  refused sley "$form" a_program_with_SLEY_CHAOS -DSLEY_CHAOS=1
  refused sley "$form" sley_testing -DSLEY_SIMULATION=1
  refused sley "$form" pack-struct -fpack-struct
  taken sley "$form"
  taken sley "$form" -O2 -DNDEBUG -D_GLIBCXX_ASSERTIONS -std=c++23 -fno-pie -no-pie
  taken sley "$form" -fsanitize=undefined -fvisibility=hidden -Wl,--gc-sections
}

! built libsley.so || check_form so
if built libsley.a; then
  rm -f "$prefix/$libdir"/libsley*.so*
  check_form a
fi

# Every setting of a program against every setting of a library, of which one file is enough here.
declare -A flags=([plain]="" [address]=-fsanitize=address [thread]=-fsanitize=thread
  [GLIBCXX_DEBUG]=-D_GLIBCXX_DEBUG [CXX11_ABI]=-D_GLIBCXX_USE_CXX11_ABI=0
  [SLEY_DEBUG_CHECKS]=-DSLEY_DEBUG_CHECKS=1 [SLEY_CHAOS]=-DSLEY_CHAOS=1
  [SLEY_SIMULATION]=-DSLEY_SIMULATION=1)
sources=$here/../..
echo '#include <sley/detail/config.hpp>
int main() {}' >"$scratch/program.cpp"
echo '#include <sley/detail/config.hpp>' >"$scratch/other.cpp"
for setting in "${!flags[@]}"; do
  compiler=("$cxx" -std=c++20 "-I$sources/include" ${flags[$setting]:+"${flags[$setting]}"} -c)
  "${compiler[@]}" -DSLEY_LIBRARY=1 "$sources/src/base/link_check.cpp" -o "$scratch/library-$setting.o"
  "${compiler[@]}" "$scratch/program.cpp" -o "$scratch/program-$setting.o"
  "${compiler[@]}" "$scratch/other.cpp" -o "$scratch/other-$setting.o"
done

link_files() {  # setting of the link, files...
  local setting=$1
  shift
  "$cxx" ${flags[$setting]:+"${flags[$setting]}"} "$@" -o "$scratch/program" >"$scratch/link.log" 2>&1
}

for setting in "${!flags[@]}"; do
  for of_library in "${!flags[@]}"; do
    if link_files "$setting" "$scratch/program-$setting.o" "$scratch/library-$of_library.o"; then
      [[ $setting == "$of_library" ]] || fail "$setting links with $of_library"
    else
      [[ $setting != "$of_library" ]] || fail "$setting does not link with itself"
      for differs in "$setting" "$of_library"; do
        [[ $differs == plain ]] || grep -q "link_check::a_program_.*$differs" "$scratch/link.log" \
          || fail "$setting with $of_library: no word of $differs"
      done
    fi
  done
done
echo "ok: every setting against every other one"

# A file that is not sanitized, in a program and with a library that are.
for setting in address thread; do
  link_files $setting "$scratch/program-plain.o" "$scratch/other-$setting.o" \
    "$scratch/library-$setting.o" || { cat "$scratch/link.log"; fail "one file without $setting"; }
done
echo "ok: files without a sanitizer in a program with one"

# The library of the simulation has the settings of the others, and one of its own.
testing=$prefix/$libdir/libsley-testing.a
if [[ -e $testing ]]; then
  read -ra cflags < <(pkg-config --cflags sley-testing)
  # testing_program FLAGS...
  testing_program() {
    "$cxx" -std=c++20 "${cflags[@]}" "$@" "$here/consumer/testing.cpp" "$testing" \
      -o "$scratch/program" >"$scratch/link.log" 2>&1
  }
  testing_program || { cat "$scratch/link.log"; fail "sley-testing"; }
  run_and_compare "$scratch/program"
  ! testing_program -USLEY_SIMULATION || fail "sley-testing links without SLEY_SIMULATION"
  grep -q not_sley_testing "$scratch/link.log" || fail "sley-testing: no word of what it is"
  ! testing_program -fsanitize=address || fail "sley-testing: address"
  grep -q a_program_with_fsanitize_address "$scratch/link.log" || fail "sley-testing: no word"
fi
