#!/bin/sh
# answers.sh ORRERY FOLDER - writes the answers of every shipped scenario and validation set to FOLDER, one JSON file each,
# without times of the machine. About ten minutes of a processor. A change that must move no number is shown by
#
#   tests/answers.sh OLD/orrery /tmp/old && tests/answers.sh build/orrery /tmp/new && diff -r /tmp/old /tmp/new
set -u
orrery=$(realpath "$1") folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Wall and processor times, and the number of a stored run, differ from call to call.
steady() {
  sed -E 's/"([a-z_]*(wall|cpu)[a-z_]*|seconds|run|points_per_s)": *[^,}]*,?//g'
}

for file in "$root"/scenarios/*.yaml; do
  name=$(basename "$file" .yaml)
  if grep -q '^sweep:' "$file"; then
    "$orrery" sweep "$file" --db "$scratch/$name.db" -j 1 --json 2> /dev/null | steady > "$folder/$name.json"
  else
    "$orrery" run "$file" --db none --json 2> /dev/null | steady > "$folder/$name.json"
  fi
done
for file in "$root"/scenarios/validation/*.yaml; do
  name=$(basename "$file" .yaml)
  "$orrery" validate "$name" --db none --json 2> /dev/null | steady > "$folder/validate-$name.json"
done
