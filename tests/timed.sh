#!/bin/sh
# timed.sh FOLDER PROGRAM [ARGUMENT...] - runs the program, as meson's wrapper of each test; leaves its name and what `times`
# says of it in FOLDER, for run.sh. Ends as the program ends, by a signal too.
folder=$1
shift
"$@"
status=$?
{ echo "${1##*/}"; times; } > "$folder/$$-${1##*/}"
[ "$status" -le 128 ] || kill -s "$(kill -l "$status")" $$
exit "$status"
