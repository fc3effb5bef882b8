#!/bin/sh
# embed.sh VIEW.sql... - prints the views as one C array, in the order of their names.
set -eu
printf '%s\n' "$@" | LC_ALL=C awk '
function base(path) { sub(/.*\//, "", path); sub(/\.sql$/, "", path); return path }
function quoted(text) { gsub(/\t/, "  ", text); gsub(/[\\"]/, "\\\\&", text); return "\"" text "\"" }
{ n++; path[n] = $0; name[n] = base($0) }
END {
  for (i = 2; i <= n; i++)
    for (k = i; k > 1 && name[k] < name[k - 1]; k--) {
      swap = name[k]; name[k] = name[k - 1]; name[k - 1] = swap
      swap = path[k]; path[k] = path[k - 1]; path[k - 1] = swap
    }
  print "/* Made by results/views/embed.sh from results/views; do not edit. */"
  print "#include \"results/store_private.h\"\n"
  print "const OrrView orr_views_data[] = {"
  for (i = 1; i <= n; i++) {
    question = ""; sql = ""
    while ((got = (getline line < path[i])) > 0) {
      if (question == "") { question = line; sub(/^-- */, "", question) }
      sql = sql "\n     " quoted(line) " \"\\n\""
    }
    if (got < 0 || question == "") { print path[i] ": cannot be read, or is empty" > "/dev/stderr"; exit 1 }
    close(path[i])
    print "    {" quoted(name[i]) ", " quoted(question) "," sql "},"
  }
  print "};\n"
  print "const guint orr_views_data_n = G_N_ELEMENTS(orr_views_data);"
}'
