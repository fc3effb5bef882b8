#!/bin/sh
# test_installed.sh ORRERY MODULE SOURCE - an installed program holds no path of the machine that built it, finds its
# library and its module from where it lies, and names the folders that it searched. TAP.
set -u
orrery=$(realpath "$1") || exit 1
module=$(realpath "$2") || exit 1
source=$(realpath "$3") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
n=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
not_ok() { n=$((n + 1)); echo "not ok $n - $1"; cut -c -300 said | sed "s/^/# /" | head -n 20; }
check() { if eval "$2"; then ok "$1"; else not_ok "$1"; fi; }
unset ORRERY_SHIPPED ORRERY_PATH

# What `meson install` puts into a package: the program without debug information, the module, the library.
mkdir -p moved/bin
strip -o moved/bin/orrery "$orrery" && strip -o module "$module" || exit 1
strings -a moved/bin/orrery module | grep -F -e "$source" -e "$(dirname "$orrery")" > said
check "program and module hold no path of the tree or of the build folder" '[ ! -s said ]'

moved/bin/orrery list models > said 2>&1
check "list without a library is an error that names the folders, exit 1" \
  '[ $? -eq 1 ] && grep -q "was not found; searched: $work/moved/share/orrery, /" said'
moved/bin/orrery run gpt3-175b-1024-a100 --db none > said 2>&1
check "a name that is not found names them, too" '[ $? -eq 2 ] && grep -q "searched: $work/moved/share/orrery, /" said'
mkdir -p own/models
cp "$source/models/zoo/llama-3.1-8b.yaml" own/models
moved/bin/orrery --library own list models > said 2>&1
check "with a library of one's own, list prints it and says what is missing" \
  '[ $? -eq 0 ] && grep -q "^llama-3.1-8b" said && grep -q "was not found" said'

mkdir -p moved/share
ln -s "$source" moved/share/orrery
moved/bin/orrery list models > said 2>&1
check "a moved installation finds ../share/orrery" '[ $? -eq 0 ] && [ "$(wc -l < said)" -gt 50 ]'
moved/bin/orrery run two-jobs-one-uplink --db none > said 2>&1
check "a module that is not there is an error with the folders" \
  '[ $? -ne 0 ] && grep -q "no orrery-simgrid.so in $work/moved/bin, $work/moved/lib" said'
folder=$(sed -n "s|.*no orrery-simgrid.so in [^,]*, \([^,]*\),.*|\1|p" said)
mkdir -p "${folder:-none}"
cp module "$folder/orrery-simgrid.so"
moved/bin/orrery run two-jobs-one-uplink --db none > said 2>&1
check "a moved installation finds its module" '[ $? -eq 0 ] && grep -q slowdown said'

# A stranger's mark beside a program does not make its folder a build folder.
mkdir forged
cp moved/bin/orrery forged
echo "$work/evil" > forged/orrery-source-tree
if chown 12345 forged/orrery-source-tree 2> said; then
  forged/orrery list models > said 2>&1
  check "a mark of another owner is not read" '! grep -q "$work/evil" said'
fi
echo "1..$n"
