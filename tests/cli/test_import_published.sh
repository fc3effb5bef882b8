#!/bin/sh
# test_import_published.sh ORRERY FOLDER - launch lines with a published speed: imported and run unchanged, the
# measured value lies within the 80 % band of the prediction, save where `# outside:` says that it does not. TAP.
set -u
orrery=$(realpath "$1") || exit 1
folder=$(realpath "$2") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
header() { sed -n "s/^# $1: //p" "$2"; }
value() { tr ',' '\n' < "$work/out" | sed -n "s/^[^\"]*\"$1\": *\([0-9.e+-]*\)[^0-9]*\$/\1/p" | head -n 1; }
for file in "$folder"/*; do
  n=$((n + 1))
  name=$(basename "$file")
  set -- $(header measured "$file")
  wanted=inside
  [ -n "$(header outside "$file")" ] && wanted=outside
  # shellcheck disable=SC2046
  if ! "$orrery" run --from-launch "$file" $(header import "$file") --db none --json > "$work/out" 2> "$work/err"; then
    echo "not ok $n - $name runs"
    sed 's/^/# /' "$work/err" | tail -n 5
    continue
  fi
  low=$(value "$1_low") high=$(value "$1_high")
  found=$(awk -v m="$2" -v l="$low" -v h="$high" 'BEGIN {
    print (l == "" || h == "") ? "without a band" : (m + 0 >= l + 0 && m + 0 <= h + 0) ? "inside" : "outside"}')
  [ "$found" = "$wanted" ] && echo "ok $n - $name: $1 $2 is $found" || echo "not ok $n - $name: $1 $2 is $found"
  echo "# $name: predicted $(value "$1") ($low to $high), measured $2"
done
echo "1..$n"
