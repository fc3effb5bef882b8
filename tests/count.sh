#!/bin/sh
# count.sh LOG STATUS - counts the test cases of a meson log (the TAP lines of each program), not its programs. STATUS is
# meson's. Prints each reason for which cases were skipped, then "N passed, N failed", and ", N skipped" where any was.
# Exit status 1 when anything failed.
set -u
log=$1 status=$2

# GLib's and the shell tests' lines: "ok 3 - name # SKIP reason"; "1..0 # SKIP reason" of a program that runs none of its
# cases counts as one. A case that was skipped has not passed.
awk -v status="$status" '
  /^(ok [0-9]+|1[.][.]0).*# *[Ss][Kk][Ii][Pp]/ {
    reason = $0
    sub(/.*# *[Ss][Kk][Ii][Pp] */, "", reason)
    if (!(reason in times)) order[++reasons] = reason
    times[reason]++
    skipped++
    next
  }
  /^ok [0-9]+/ { passed++ }
  /^not ok [0-9]+/ { failed++ }
  /^result: +(killed by signal|timeout)/ { failed++ } # such a program has no line of its own to count
  END {
    if (status != 0 && !failed) failed = 1
    for (i = 1; i <= reasons; i++) printf "skipped %d: %s\n", times[order[i]], order[i] == "" ? "no reason given" : order[i]
    printf "%d passed, %d failed", passed, failed
    if (skipped) printf ", %d skipped", skipped
    print ""
    exit failed > 0
  }' "$log"
