#!/usr/bin/env bash
# sley for another CPU, installed to a place that is no part of a cross compiler's own, serves a CMake
# project that is built for that CPU. Its program runs under the emulator and answers this machine's
# HTTP client. The last arguments: the toolchain file, and the emulator's command.
set -euo pipefail
. "$(dirname "$0")/common.sh"
toolchain=$5 emulator=("${@:6}")
command -v "${emulator[0]}" >/dev/null || { echo "skipped: there is no ${emulator[0]}"; exit 77; }
install_moved

# CMake looks for packages in the roots that the toolchain file names, and in the staging prefix.
tree=$scratch/tree
cmake -S "$here/consumer" -B "$tree" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$toolchain" \
  -DCMAKE_STAGING_PREFIX="$prefix" -DCOMPONENTS=http >"$tree.log" 2>&1 \
  && cmake --build "$tree" --target server >>"$tree.log" || { cat "$tree.log"; exit 1; }

# The server says where it listens, and ends when its standard input does.
coproc server { timeout 120 "${emulator[@]}" "$tree/server"; }
process=$server_PID
read -r -t 60 url <&"${server[0]}" || fail "the server does not say where it listens"
run_and_compare curl --silent --show-error --noproxy '*' "$url"
eval "exec ${server[1]}>&-"
wait "$process" || fail "status $? of the server"
