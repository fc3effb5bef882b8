#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS: every libFuzzer target of BUILD over its stored inputs, then over random ones for so many
# seconds (0: the stored ones alone). Ends with "N passed, M failed". An input that breaks a reader is kept as
# BUILD/crash-TARGET-...: add it to tests/fuzz/TARGET when the reader is mended.
set -uo pipefail
build=$1 seconds=$2
here=$(dirname "$0")
passed=0 failed=0

# One target: its stored inputs each once, then random ones.
fuzz() { # NAME
  local stored=$here/${1//_/-} grown=$build/corpus/$1
  local options=(-max_len=4096 -timeout=10 -verbosity=0 "-artifact_prefix=$build/crash-$1-")
  export ORR_FUZZ_TARGET=$1
  mkdir -p "$grown"
  "$build/tests/fuzzers" "${options[@]}" "$stored"/* || return 1
  [ "$seconds" = 0 ] || "$build/tests/fuzzers" "${options[@]}" -max_total_time="$seconds" "$grown" "$stored"
}

mapfile -t names < <("$build/tests/fuzzers" | sort)

# Two at a time; each leaves its status.
for name in "${names[@]}"; do
  [ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
  { fuzz "$name" > "$build/fuzz-$name.log" 2>&1; echo $? > "$build/fuzz-$name.status"; } &
done
wait

for name in "${names[@]}"; do
  if [ "$(cat "$build/fuzz-$name.status")" = 0 ]; then
    passed=$((passed + 1))
    echo "ok - $name"
  else
    failed=$((failed + 1))
    echo "not ok - $name"
    tail -n 40 "$build/fuzz-$name.log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
