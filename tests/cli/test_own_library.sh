#!/bin/sh
# test_own_library.sh ORRERY - documents of a user's own library name their traces from their own folder, wherever the
# program is started. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }

mkdir -p "$work/mine/validation-sets" "$work/mine/scenarios" "$work/mine/traces" "$work/elsewhere"
cd "$work/elsewhere" || exit 1
trace() { printf 'arrival_s,input_tokens,output_tokens\n'; for i in $(seq "$1"); do echo "$i,100,5"; done; }
trace 3 > ../mine/validation-sets/own.requests.csv
trace 4 > ../mine/scenarios/beside.csv
trace 5 > ../mine/traces/below.csv
trace 6 > here.csv

scenario() { # NAME FILE
  cat <<END
schema: scenario/1
name: $1
cluster: {base: dgx-h100-superpod, gpus: 1}
model: llama-3.1-8b
workload: {kind: serving, load: {kind: csv, file: $2}}
END
}
scenario own own.requests.csv > ../mine/validation-sets/own.yaml
printf 'label,measured.n_gpus,workload.load.file\nbeside the set,1,own.requests.csv\nin the library,1,traces/below.csv\n' > ../mine/validation-sets/own.csv
scenario beside beside.csv > ../mine/scenarios/beside.yaml
scenario below traces/below.csv > ../mine/scenarios/below.yaml
scenario here here.csv > ../mine/scenarios/here.yaml
scenario none none.csv > ../mine/scenarios/none.yaml
requests() { "$orrery" --library ../mine run "$@" --db none > said 2>&1 && sed -n 's/^  throughput *\([0-9]*\) requests.*/\1/p' said; }

"$orrery" --library ../mine validate own --db none > said 2>&1
check "a validation set reads traces beside it and below the library" \
  '[ $? -eq 0 ] && grep -q "2 compared, 0 rows refused" said'
check "a scenario of the library reads a trace beside it" '[ "$(requests beside)" = 4 ]'
check "one given by its path does too" '[ "$(requests ../mine/scenarios/beside.yaml)" = 4 ]'
check "a trace below the library's folder" '[ "$(requests below)" = 5 ]'
check "a trace below the working directory" '[ "$(requests here)" = 6 ]'
trace 9 > beside.csv
check "the working directory does not change what a document means" '[ "$(requests beside)" = 4 ]'
check "a trace by its absolute path" '[ "$(requests here --set "workload.load.file=$work/mine/scenarios/beside.csv")" = 4 ]'
"$orrery" --library ../mine run none --db none > said 2>&1
status=$?
check "a trace that is nowhere: the places searched, exit 2" \
  '[ $status -eq 2 ] && grep -q "none.yaml:5:.*there is no trace none.csv, nor ../mine/scenarios/none.csv, nor ../mine/none.csv" said'

# --- A document of a shipped one's name ---

mkdir -p ../mine/devices
printf 'schema: device/1\nbase: shipped:h100-sxm\nmemory: 160 GiB\n' > ../mine/devices/h100-sxm.yaml
scenario plain here.csv > ../mine/scenarios/plain.yaml
"$orrery" --library ../mine describe device h100-sxm > said 2>&1
status=$?
check "an overlay of the same name" '[ $status -eq 0 ] && grep -q "160 GiB" said && grep -q "nvlink\|989" said'
"$orrery" --library ../mine run plain --db none > said 2>&1
status=$?
check "counts wherever the device is named, and the run says so" '[ $status -eq 0 ] && grep -q "device .h100-sxm. is read from .* in place of the shipped one" said'
"$orrery" --library ../mine describe device shipped:h100-sxm > said 2>&1
check "the shipped one is still there" 'grep -q "79.65 GiB\|80 GiB" said'
printf 'schema: device/1\nbase: h100-sxm\n' > ../mine/devices/h100-sxm.yaml
"$orrery" --library ../mine describe device h100-sxm > said 2>&1
status=$?
check "a circle of bases says how" '[ $status -eq 2 ] && grep -q "in a circle: h100-sxm -> h100-sxm.*base: shipped:h100-sxm" said'
printf 'schema: device/1\nbase: shipped:h100\n' > ../mine/devices/h100-sxm.yaml
"$orrery" --library ../mine describe device h100-sxm > said 2>&1
status=$?
check "an unknown shipped one: the nearest" '[ $status -eq 2 ] && grep -q "unknown device .shipped:h100.: did you mean" said'

# --- A profile by its path, from the folder of the document that names it ---

rm -r ../mine/devices
printf 'schema: profile/1\nname: ours\nbase: h100-sxm\ndevice: h100-sxm\n' > ../mine/scenarios/ours.yaml
sed 's|cluster: .*|cluster: {base: dgx-h100-superpod, gpus: 1, device: {base: h100-sxm, profile: ./ours.yaml}}|' ../mine/scenarios/beside.yaml > ../mine/scenarios/profiled.yaml
check "a profile by its path" '[ "$(requests ../mine/scenarios/profiled.yaml)" = 4 ] && [ "$(requests profiled)" = 4 ]'
printf 'schema: profile/1\nname: ours\nbase: h100-sxm\ndevice: h100-sxm\ncollectives: [{op: all_reduce, ranks: 4, bytes: "1048576 4194304", us: "40 60"}]\n' > ours.yaml
"$orrery" calibrate cost ./ours.yaml all_reduce n_gpus=4 bytes=4194304 > said 2>&1
check "the costs of a profile by its path" 'grep -q "^60 us  measured" said'
printf 'schema: device/1\nbase: h100-sxm\n' > device.yaml
"$orrery" calibrate cost ./device.yaml all_reduce n_gpus=4 bytes=4194304 > said 2>&1
check "the costs of a device by its path" 'grep -q "^[0-9.]* us  measured" said'
rm ../mine/scenarios/ours.yaml
"$orrery" --library ../mine run profiled --db none > said 2>&1
status=$?
check "a path without a profile" '[ $status -eq 2 ] && grep -q "unknown profile .*mine/scenarios/ours.yaml" said'
echo "1..$n"
