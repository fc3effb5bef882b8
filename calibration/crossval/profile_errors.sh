#!/bin/sh
# profile_errors.sh ORRERY [NAME...] - writes the section `errors:` of profiles anew, as `orrery calibrate errors` says
# it: to be run after a change of the cost model or of a profile's rows or constants. Without names: every profile that
# is called as a device is. The section is the last of its file.
set -eu
orrery=$(realpath "$1")
shift
cd "$(dirname "$0")"
work=$(mktemp)
trap 'rm -f "$work"' EXIT

if [ $# -eq 0 ]; then
  for file in ../topologies/devices/*.yaml; do set -- "$@" "$(basename "$file" .yaml)"; done
fi
for name in "$@"; do
  [ -f "profiles/$name.yaml" ] || continue
  "$orrery" calibrate errors "$name" > "$work"
  [ -s "$work" ] || continue
  sed -i '/^errors:/,$d' "profiles/$name.yaml"
  cat "$work" >> "profiles/$name.yaml"
done
