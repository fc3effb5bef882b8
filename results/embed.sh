#!/bin/sh
# embed.sh TYPE ARRAY HEADER FILE... - prints text files (views, plots, launch tables, the report's scripts and styles) as
# one C array of {name, first line, whole text}, in the order of their names. A line
# "-- include NAME" stands for parts/NAME.sql in the file's folder.
set -eu
type=$1 array=$2 header=$3
shift 3
printf '%s\n' "$@" | LC_ALL=C awk -v type="$type" -v array="$array" -v header="$header" '
function base(path) { sub(/.*\//, "", path); sub(/\.[a-z]+$/, "", path); return path }
function quoted(text) { gsub(/\t/, "  ", text); gsub(/[\\"]/, "\\\\&", text); return "\"" text "\"" }
function fail(path) { print path ": cannot be read, or is empty" > "/dev/stderr"; exit 1 }
function included(path, name,    line, text, got) {
  sub(/[^\/]*$/, "parts/" name ".sql", path)
  while ((got = (getline line < path)) > 0) text = text "\n     " quoted(line) " \"\\n\""
  if (got < 0 || text == "") fail(path)
  close(path)
  return text
}
{ n++; path[n] = $0; name[n] = base($0) }
END {
  for (i = 2; i <= n; i++)
    for (k = i; k > 1 && name[k] < name[k - 1]; k--) {
      swap = name[k]; name[k] = name[k - 1]; name[k - 1] = swap
      swap = path[k]; path[k] = path[k - 1]; path[k - 1] = swap
    }
  print "/* Made by results/embed.sh; do not edit. */"
  print "#include \"" header "\"\n"
  print "extern const " type " " array "[];\nextern const guint " array "_n;\n"
  print "const " type " " array "[] = {"
  for (i = 1; i <= n; i++) {
    question = ""; sql = ""
    while ((got = (getline line < path[i])) > 0) {
      if (question == "") { question = line; sub(/^(--|#|\/\/|\/\*|<!--) */, "", question) }
      sql = sql (line ~ /^-- include / ? included(path[i], substr(line, 12)) : "\n     " quoted(line) " \"\\n\"")
    }
    if (got < 0 || question == "") fail(path[i])
    close(path[i])
    print "    {" quoted(name[i]) ", " quoted(question) "," sql "},"
  }
  print "};\n"
  print "const guint " array "_n = G_N_ELEMENTS(" array ");"
}'
