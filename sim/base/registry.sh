#!/bin/sh
# registry.sh REGISTRY TYPE FAMILY HEADER FILE... - prints the registry of a family: the entries in FILE..., each a
# `const TYPE NAME = {` that begins a line, in the order of their names in documents. A file without one is a helper.
set -eu
registry=$1 type=$2 family=$3 header=$4
shift 4
LC_ALL=C awk -v type="$type" -v registry="$registry" -v family="$family" -v header="$header" '
$0 ~ "^const " type " [a-z0-9_]+ = [{]" { n++; symbol[n] = $3; seeks = 1 }
$0 ~ "^const " type " [^*(]*$" && $0 !~ "^const " type " [a-z0-9_]+ = [{]" {
  print FILENAME ":" FNR ": an entry begins with: const " type " name = {" > "/dev/stderr"
  exit failed = 1
}
seeks && match($0, /([{]|[.]name = )"[^"]*"/) {
  name[n] = substr($0, RSTART, RLENGTH)
  sub(/^[^"]*"/, "", name[n]); sub(/"$/, "", name[n])
  seeks = 0
}
END {
  if (failed) exit 1
  for (i = 2; i <= n; i++)
    for (k = i; k > 1 && name[k] < name[k - 1]; k--) {
      swap = name[k]; name[k] = name[k - 1]; name[k - 1] = swap
      swap = symbol[k]; symbol[k] = symbol[k - 1]; symbol[k - 1] = swap
    }
  print "/* Made by sim/base/registry.sh; do not edit. */"
  print "#include \"" header "\"\n"
  for (i = 1; i <= n; i++) print "extern const " type " " symbol[i] ";"
  print "\nstatic const OrrEntry *const entries[] = {"
  for (i = 1; i <= n; i++) print "    &" symbol[i] (type == "OrrEntry" ? "," : ".entry,")
  print "    NULL};"
  print "const OrrRegistry " registry " = {\"" family "\", entries};"
}' "$@"
