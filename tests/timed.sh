#!/bin/sh
# timed.sh FOLDER PROGRAM [ARGUMENT...] - runs the program, as meson's wrapper of each test; leaves its name and what `times`
# says of it in FOLDER, for run.sh. Ends as the program ends, by a signal too.
folder=$1
shift
name=${1##*/}
[ "$name" != test-programs ] || name=$2
for argument; do case $argument in *.md) name="$name ${argument##*/}" ;; esac; done
"$@"
status=$?
{ echo "$name"; times; } > "$folder/$$"
[ "$status" -le 128 ] || kill -s "$(kill -l "$status")" $$
exit "$status"
