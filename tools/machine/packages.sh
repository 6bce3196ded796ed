#!/usr/bin/env bash
# Unpack Debian's kernel for arm64, and what an emulated machine of that kind needs besides, into a
# folder:
#   packages.sh FOLDER [KERNEL SUITE]
# KERNEL is the package that names the newest one of a kind (linux-image-arm64-16k), and SUITE is the
# release of Debian that it is from, if that is not this machine's. apt gets them through lists of its
# own, from the mirror that this machine already uses. Nothing is installed, and this machine's own
# lists stay as they are. What is unpacked already stays.
set -euo pipefail
folder=$1
kind=${2:-linux-image-arm64} suite=${3:-}
[[ ! -e $folder/complete ]] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/kernel_lists/partial" "$work/archives/partial"
sources=/etc/apt/sources.list.d/debian.sources
[[ -e $sources ]] || sources=/etc/apt/sources.list
common=(-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
  -o Dir::Etc::sourceparts=/dev/null -o Dir::State::status=/dev/null -o "Dir::Cache=$work"
  -o Debug::NoLocking=1)
options=("${common[@]}" -o "Dir::Etc::sourcelist=$sources" -o "Dir::State::Lists=$work/lists")
kernel_options=("${options[@]}")
if [[ -n $suite ]]; then
  mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(http[^ ]*).*/\3/; T; p; q' "$sources")
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/kernel.list"
  kernel_options=("${common[@]}" -o "Dir::Etc::sourcelist=$work/kernel.list"
    -o "Dir::State::Lists=$work/kernel_lists")
fi
# The libraries of test programs, and what these start: a shell and its commands, strip, addr2line,
# Python.
programs=(libstdc++6 busybox-static dash coreutils grep binutils python3)

apt-get "${kernel_options[@]}" -qq update >&2
kernel=$(apt-cache "${kernel_options[@]}" depends "$kind" | sed -n 's/^ *Depends: //p')
[[ $kernel == linux-image-* ]] || { echo "packages.sh: apt names no kernel for $kind" >&2; exit 1; }
(cd "$work/archives" && apt-get "${kernel_options[@]}" -qq download "$kernel" >&2)
[[ -z $suite ]] || apt-get "${options[@]}" -qq update >&2
apt-get "${options[@]}" -qq --no-install-recommends --download-only install "${programs[@]}" >&2

rm -rf "$folder"
mkdir -p "$folder/root"
for package in "$work"/archives/*.deb; do
  if [[ $package == */linux-image-* ]]; then
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder" --strip-components=2 --wildcards './boot/vmlinuz-*'
  else
    dpkg -x "$package" "$folder/root"
  fi
done
mv "$folder"/vmlinuz-* "$folder/kernel"
ln -sf dash "$folder/root/bin/sh"
touch "$folder/complete"
