#!/bin/sh
# test_reference.sh ORRERY figures|no-figures - the documentation says what the program says. TAP, a line a file:
#   docs/reference/*.md      equals what docs/reference/generate.sh writes with this program
#   README.md, docs/*.md     their ```yaml blocks that begin with "schema:" are documents that `orrery check` finds fine
#   README.md, docs/         their accuracy figures are what docs/accuracy.py writes, for the sets that take a few seconds;
#                            not with no-figures (under sanitizers the same figures take a minute)
#   training-dgxc.csv        holds each measurement once
# A block with a `name:` joins a library, so that documents may name each other.
set -u
orrery=$(realpath "$1") || exit 1
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
status=0

# report WHAT FILE: ok where FILE, which says what is wrong, is empty.
report() {
  n=$((n + 1))
  if [ ! -s "$2" ]; then
    echo "ok $n - $1"
    return
  fi
  echo "not ok $n - $1"
  sed 's/^/# /' "$2"
  status=1
}

mkdir "$work/reference" "$work/library"
ORRERY_SHIPPED=$root "$root/docs/reference/generate.sh" "$orrery" "$work/reference" > "$work/said" 2>&1 ||
  echo "generate.sh failed" >> "$work/said"
report "the reference can be generated" "$work/said"
for name in $(cd "$root/docs/reference" && ls ./*.md; cd "$work/reference" && ls ./*.md); do echo "$name"; done |
  sort -u > "$work/names"
while read -r name; do
  diff -u "$root/docs/reference/$name" "$work/reference/$name" > "$work/said" 2>&1
  report "reference: ${name#./} is what docs/reference/generate.sh writes" "$work/said"
done < "$work/names"

# Cuts the documents out of FILE into $work/library, laid out as a user's own is, and lists them.
cut_documents() {
  awk -v work="$work" '
    /^```yaml/ { inside = 1; text = kind = name = ""; next }
    /^```/ {
      if (inside && kind) {
        folder = work "/library/" kind "s"
        system("mkdir -p " folder)
        path = folder "/" (name ? name : "unnamed-" ++unnamed) ".yaml"
        printf "%s", text > path
        close(path)
        print path
      }
      inside = 0
      next
    }
    !inside { next }
    text == "" && /^schema: [a-z]+\/1/ { kind = $2; sub("/1", "", kind) }
    /^name: [a-z0-9.-]+$/ { name = $2 }
    { text = text $0 "\n" }' "$1"
}

for file in "$root"/README.md "$root"/docs/*.md; do
  cut_documents "$file" > "$work/documents"
  : > "$work/said"
  # shellcheck disable=SC2046  # names of documents hold no blanks
  [ ! -s "$work/documents" ] ||
    ORRERY_SHIPPED=$root "$orrery" --library "$work/library" check $(cat "$work/documents") > "$work/answer" 2>&1 ||
    cp "$work/answer" "$work/said"
  report "$(basename "$file"): its $(grep -c . "$work/documents") documents are fine" "$work/said"
done
if [ "$2" = figures ]; then
  python3 "$root/docs/accuracy.py" "$orrery" --check --quick > "$work/found" 2>&1 && : > "$work/found"
  report "README.md, docs/: the accuracy figures of the quick sets are what validate says ('make accuracy' writes them)" \
    "$work/found"
fi
python3 "$root/docs/performance.py" --check > "$work/found" 2>&1 && : > "$work/found"
report "docs/performance.md, README.md: the figures of speed are those of tests/bench/figures.tsv ('make performance')" \
  "$work/found"
# A measurement that several releases' tables repeat is in the set once: rows differ in more than release and title.
grep -v '^#' "$root/scenarios/validation/training-dgxc.csv" | cut -d, -f3-28 | sort | uniq -d > "$work/found"
report "training-dgxc: every row is there once" "$work/found"
echo "1..$n"
exit $status
