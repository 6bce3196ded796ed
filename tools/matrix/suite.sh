#!/usr/bin/env bash
# Run a command in a newer suite of Debian than this machine has, as root, with the tree at its own path:
#   suite.sh SUITE PACKAGE... -- COMMAND...
# The suite, with these packages, is in a folder under the user's cache folder, where it stays; without
# that folder, or with other packages than it has, it is made anew. apt gets the packages from the
# mirror that this machine already uses. Nothing is installed on this machine.
# Status 77: the suite is not to be had, and the last line of stderr says why.
set -euo pipefail
tree=$(realpath "$(dirname "$0")/../..")
suite=$1
shift
packages=()
while [[ $1 != -- ]]; do packages+=("$1"); shift; done
shift

not_to_be_had() { echo "$*" >&2; exit 77; }
((EUID == 0)) || not_to_be_had "$suite needs root"
unshare -m true || not_to_be_had "no mounts are allowed"
root=${XDG_CACHE_HOME:-$HOME/.cache}/sley-suites/$suite

# One command at a time in a suite, because another may make it anew.
mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9

# Of this machine: proxies, and whether the mirror may be old.
apt_settings() { apt-config dump | grep -E '^Acquire::(http|https|Check-Valid-Until)\b' || true; }

# mmdebstrap mounts /proc, /sys and more in the root. In a mount namespace of its own these mounts end with it,
# also if it is killed, so that no later rm goes through them.
make_root() {
  local sources=/etc/apt/sources.list.d/debian.sources
  command -v mmdebstrap >/dev/null && [[ -e $sources ]] || return
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  awk -v suite="$suite" '!done && /^Suites:/ {print "Suites: " suite; next} /^$/ {done=1} !done' "$sources" |
    unshare -m mmdebstrap --mode=root --variant=apt --include="${packages[*]}" --aptopt=<(apt_settings) \
      --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
      "$suite" "$root" - >&2 || return
  echo "${packages[*]}" >"$root/packages"
}

[[ -e $root/packages && $(<"$root/packages") == "${packages[*]}" ]] || make_root ||
  not_to_be_had "$suite can't be unpacked"

mkdir -p "$root$tree"
exec unshare -m bash -euc '
  root=$1 tree=$2
  shift 2
  for folder in /dev /proc /sys "$tree"; do mount --rbind "$folder" "$root$folder"; done
  exec chroot "$root" "$@"' bash "$root" "$tree" "$@"
