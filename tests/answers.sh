#!/bin/sh
# answers.sh ORRERY FOLDER [PATTERN] - writes the answers of every shipped scenario and validation set to FOLDER, one file
# each with the JSON, then warnings and errors, without times of the machine; with PATTERN, a regular expression, of the
# ones that it matches. All take about as long as `make residuals`. A change that must move no number is shown by
#
#   tests/answers.sh OLD/orrery /tmp/old && tests/answers.sh build/orrery /tmp/new && diff -r /tmp/old /tmp/new
set -u
orrery=$(realpath "$1") folder=$2 pattern=${3:-}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# answer NAME TIMES COMMAND...: what the command prints, without members whose names match TIMES: wall and processor times,
# and, of a sweep, the number of a stored run, differ from call to call. A run's "seconds" are an answer.
answer() {
  name=$1 times=$2
  shift 2
  printf '%s' "$name" | grep -Eq "$pattern" || return 0
  "$orrery" "$@" --json > "$scratch/out" 2> "$scratch/err"
  echo "exit status $?" >> "$scratch/err"
  cat "$scratch/out" "$scratch/err" | sed -E "s/\"($times)\": *[^,}]*,?//g; s#$scratch/##g" > "$folder/$name.json"
}

machine='[a-z_]*(wall|cpu)[a-z_]*'
for file in "$root"/scenarios/*.yaml; do
  name=$(basename "$file" .yaml)
  if grep -q '^sweep:' "$file"; then
    answer "$name" "$machine|seconds|run|points_per_s" sweep "$file" --db "$scratch/$name.db" -j 1
  else
    answer "$name" "$machine" run "$file" --db none
  fi
done
for file in "$root"/scenarios/validation/*.yaml; do
  name=$(basename "$file" .yaml)
  answer "validate-$name" "$machine" validate "$name" --db none
done
