#!/bin/sh
# test_module.sh ORRERY MODULE - the SimGrid engine is a module that the program loads when a run needs it. TAP.
set -u
orrery=$(realpath "$1") || exit 1
module=$(realpath "$2") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
number() { sed -n "s/.*\"job\": \"a\".*\"slowdown\": \([0-9.e+-]*\).*/\1/p" "$1" | head -n 1; }
run() { "$1" run "$2" --db none --json > said 2>&1; }
maps() { ldd "$1" | grep -q simgrid; }

check "the program is not linked with SimGrid; its module is" '! maps "$orrery" && maps "$module"'

run "$orrery" two-jobs-one-uplink
cp said built
check "a run whose transfers contend loads it" '[ -n "$(number built)" ]'

# A program that was copied takes the module in its folder, and refuses one that is not a module of its own.
mkdir apart
cp "$orrery" apart/orrery
cp "$module" apart/orrery-simgrid.so
run apart/orrery two-jobs-one-uplink
check "a copy of both answers alike" '[ "$(number said)" = "$(number built)" ]'

echo "no module" > apart/orrery-simgrid.so
run apart/orrery two-jobs-one-uplink
status=$?
check "a file that is no module ends the run with its path" \
  '[ $status -ne 0 ] && grep -q "the SimGrid engine cannot be loaded: .*apart/orrery-simgrid.so" said'

printf '#include <stddef.h>\nconst size_t orr_engine_simgrid_layout[6] = {1, 2, 3, 4, 5, 6};\n' > other.c
if cc -shared -fPIC -o apart/orrery-simgrid.so other.c 2> said; then
  run apart/orrery two-jobs-one-uplink
  status=$?
  check "a module of another build is refused" '[ $status -ne 0 ] && grep -q "belongs to another build" said'
else
  n=$((n + 1)); echo "ok $n - a module of another build is refused # SKIP no compiler named cc"
fi

cat > alone.yaml <<'END'
schema: scenario/1
name: alone
cluster: {base: dgx-h100-superpod, nodes: 2}
workload: {kind: collectives, begin: 1 MiB, end: 1 MiB}
END
run apart/orrery alone.yaml
status=$?
check "a run whose transfers do not contend needs none" '[ $status -eq 0 ] && grep -q time_s said'
echo "1..$n"
