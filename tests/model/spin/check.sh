#!/usr/bin/env bash
# check.sh FILE passes|fails [-O2] [-DNAME...]: verifies a model of this folder, in all its states,
# with these definitions. Status 0 if it passes, or if Spin finds a counterexample, as was said. With
# -O2 the verifier takes ten seconds longer to compile and a third less to run.
set -euo pipefail
file=$(realpath "$1") expected=$2
shift 2
level=-O0
[[ ${1-} != -O2 ]] || { level=$1; shift; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
spin -a "$@" "$file"
cc $level -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c
./pan -m100000 >result
grep -E 'assertion violated|errors:|states, stored|elapsed' result
if grep -q 'max search depth too small' result; then
  echo 'not all states were seen'
  exit 1
fi
case $expected in
  passes) grep -q 'errors: 0$' result ;;
  fails) ! grep -q 'errors: 0$' result ;;
esac
