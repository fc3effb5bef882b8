#!/bin/sh
# lint.sh [ROOT] - holds the tree to its own rules: floors, names, sizes, comments, spelling, who may print and exit.
# TAP output, a line for each rule, each finding below it; exit status 1 when any rule is broken. The fixture
# tests/lint_fixtures/RULE is a small tree that breaks RULE and nothing else (tests/lint_test.sh).
#
# To add a rule: a function that prints one finding a line and nothing where all is well, its name in `rules` below, a
# fixture folder of that name. A rule whose program is not installed is skipped, with a word about it.
#
# The two rules that run a compiler or a formatter keep the checksums of what passed in ROOT/build/lint, where there is
# a build; a file that did not change is not checked again.
# shellcheck disable=SC2046,SC2086,SC2317  # lists of files are split on purpose; rules are called by name
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 2
LC_ALL=C
export LC_ALL

rules='floors foreign-headers includes-from-root unique-names prefix file-size header-size function-size columns format
  head-comments printing exiting cxx goto dialects headers-alone data-only lists readmes top-level spelling prose'

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/passed"
passed=$work/passed
if [ -d build ] && mkdir -p build/lint 2>/dev/null && [ -w build/lint ]; then passed=build/lint; fi

# Sources but for the fixtures, which break rules on purpose.
sources() {
  find sim models topologies workloads calibration results tests scenarios -path tests/lint_fixtures -prune -o \
    -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -print 2>/dev/null | sort
}

# Every line of code as FILE:LINE:CODE, with comments and literals blanked.
code() {
  awk '
    function blank(line,   out, end) {
      if (!in_comment && line !~ /["\047\/]/) return line
      out = ""
      while (line != "") {
        if (in_comment) {
          end = index(line, "*/")
          if (!end) return out
          in_comment = 0
          line = substr(line, end + 2)
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^\047([^\047\\]|\\.)*\047/)) {
          out = out "\"\""
          line = substr(line, RLENGTH + 1)
        } else if (substr(line, 1, 2) == "//") {
          return out
        } else if (substr(line, 1, 2) == "/*") {
          in_comment = 1
          line = substr(line, 3)
        } else if (match(line, /^[^"\047\/]+/)) {
          out = out substr(line, 1, RLENGTH)
          line = substr(line, RLENGTH + 1)
        } else {
          out = out substr(line, 1, 1)
          line = substr(line, 2)
        }
      }
      return out
    }
    FNR == 1 { in_comment = 0 }
    { line = blank($0); if (line ~ /[^ \t]/) print FILENAME ":" FNR ":" line }' $(sources) /dev/null
}

# The lines of `code` whose third part matches $1 outside of sim/cli and tests, as "FILE:LINE: $2".
refuse_code() {
  awk -v pattern="$1" -v finding="$2" '
    /^(sim\/cli|tests)\// { next }
    {
      place = substr($0, 1, index(substr($0, index($0, ":") + 1), ":") + index($0, ":") - 1)
      if (substr($0, length(place) + 2) ~ pattern) print place ": " finding
    }' "$work/code"
}

# A checksum for each of the files named, as "SUM FILE".
sums() {
  [ $# -eq 0 ] || cksum "$@" | awk '{ print $1 "-" $2, $3 }'
}

# Of the lines "KEY FILE" on standard input the files whose line is not yet in $1.
changed() {
  awk -v known="$1" 'BEGIN { while ((getline line < known) > 0) seen[line] = 1 } !($0 in seen) { print $2 }'
}

# Who may include whom: the table in ARCHITECTURE.md, floor by floor.
rule_floors() {
  awk -v table="$here/../ARCHITECTURE.md" '
    # "`a`, the row of `b`" as " a (what b may use) "
    function list(text,   out, name) {
      while (match(text, /(the row of )?`[^`]*`/)) {
        name = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        out = out " " (name ~ /^the row of/ ? may[plain(name)] : plain(name))
      }
      return out " "
    }
    function plain(name) { sub(/^[^`]*`/, "", name); sub(/`.*/, "", name); return name }
    # The longest row that begins @path.
    function floor_of(path) {
      while (sub(/\/[^\/]*$/, "", path)) if (path in may) return path
      return ""
    }
    function is_allowed(from, to,   names, n, i) {
      if (from == to) return 1
      n = split(may[from], names, " ")
      for (i = 1; i <= n; i++) {
        if (names[i] == to) return 1
        if (names[i] ~ /\/\*$/ && index(to, substr(names[i], 1, length(names[i]) - 1)) == 1) return 1
      }
      return 0
    }
    BEGIN {
      while ((getline line < table) > 0) {
        if (line ~ /^<!-- floors -->/) inside = 1
        if (line ~ /^<!-- \/floors -->/) inside = 0
        if (!inside || line !~ /^\| `/) continue
        split(line, cells, "|")
        may[plain(cells[2])] = list(cells[4])
        n_rows++
      }
      if (n_rows == 0) print table ": no table of floors"
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      if (!index(quoted[2], "/")) next
      from = floor_of(FILENAME); to = floor_of(quoted[2])
      if (from == "") next
      if (!is_allowed(from, to))
        print FILENAME ":" FNR ": " from " may not use " (to == "" ? "what has no floor" : to) " (" quoted[2] ")"
    }' $(sources) /dev/null
}

# Each foreign library in one place.
rule_foreign_headers() {
  awk '
    /^[ \t]*#[ \t]*include[ \t]*</ {
      header = $0; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
      if (FILENAME ~ /^tests\//) next
      if (header ~ /^(glib|math|stdio|stdlib|string)\.h$/ &&
          FILENAME !~ /^(sim\/base\/ground\.h|calibration\/measure\/(cuda\/vendor\.h|hip\/.*))$/)
        print FILENAME ":" FNR ": sim/base/ground.h has <" header ">"
      if (header == "sqlite3.h" && FILENAME !~ /^results\//) print FILENAME ":" FNR ": only results/ uses SQLite"
      if (header ~ /^simgrid\// && FILENAME != "sim/engine/engine_simgrid.cpp")
        print FILENAME ":" FNR ": only sim/engine/engine_simgrid.cpp uses SimGrid"
      if (header == "yaml.h" && FILENAME != "sim/base/yaml.c" && FILENAME != "sim/base/yaml_foreign.c")
        print FILENAME ":" FNR ": only sim/base/yaml.c and yaml_foreign.c use libyaml"
      if (header ~ /^libxml\// && FILENAME != "sim/import/topology/dump_nccl_xml.c")
        print FILENAME ":" FNR ": only sim/import/topology/dump_nccl_xml.c uses libxml2"
    }' $(sources) /dev/null
}

rule_includes_from_root() {
  awk '
    /^[ \t]*#[ \t]*include[ \t]*"/ { split($0, quoted, "\""); print FILENAME, FNR, quoted[2] }' $(sources) /dev/null |
    while read -r file line header; do
      [ -f "$header" ] || echo "$file:$line: \"$header\" is no file from the root of the tree"
    done
}

# A .h and its .c count once.
rule_unique_names() {
  sources | awk '
    {
      folder = $0; sub(/\/[^\/]*$/, "", folder)
      name = $0; sub(/.*\//, "", name); sub(/\.[^.]*$/, "", name)
      if ((name in at) && at[name] != folder) print $0 ": there is a " name " in " at[name] " too"
      else at[name] = folder
    }'
}

# An exported function begins with orr_ and the name of its file, of a header that declares it, or of a type that this
# header defines (OrrFooBar: orr_foo_bar_).
rule_prefix() {
  awk '
    function stem(path) { sub(/.*\//, "", path); sub(/\.[^.]*$/, "", path); return path }
    function snake(type,   out, i, c, before, after) {
      sub(/^Orr/, "", type)
      for (i = 1; i <= length(type); i++) {
        c = substr(type, i, 1); before = substr(type, i - 1, 1); after = substr(type, i + 1, 1)
        if (i > 1 && c ~ /[A-Z]/ && (before ~ /[a-z0-9]/ || after ~ /[a-z]/)) out = out "_"
        out = out tolower(c)
      }
      return out
    }
    function begins(name, words,   parts, n, k) {
      n = split(words, parts, " ")
      for (k = 1; k <= n; k++) if (name == "orr_" parts[k] || index(name, "orr_" parts[k] "_") == 1) return 1
      return 0
    }
    function header_line(file, line,   name) {
      name = stem(file)
      if (match(line, /(\}|struct|enum [A-Za-z]*|struct [A-Za-z]+) *Orr[A-Za-z0-9]+( \{|;)/)) {
        type = substr(line, RSTART, RLENGTH)
        match(type, /Orr[A-Za-z0-9]+( \{|;)$/)
        type = substr(type, RSTART); sub(/( \{|;)$/, "", type)
        types[name] = types[name] " " snake(type)
      }
      while (match(line, /orr_[a-z0-9_]+ *\(/)) {
        function_name = substr(line, RSTART, RLENGTH); sub(/ *\($/, "", function_name)
        line = substr(line, RSTART + RLENGTH)
        if (!index(declared[function_name], " " name " ")) declared[function_name] = declared[function_name] " " name " "
      }
    }
    function end_definition(   words, headers, n, k, plain) {
      words = stem(file); sub(/_private$/, "", words)
      if (words == "cuda_missing") words = "cuda_layer" # stands in for it where there is no toolkit
      n = split(declared[candidate], headers, " ")
      for (k = 1; k <= n; k++) {
        plain = headers[k]; sub(/_private$/, "", plain)
        words = words " " plain types[headers[k]]
      }
      if (!begins(candidate, words)) print place ": " candidate " does not begin with the name of its file (" words ")"
    }
    {
      at = index($0, ":"); path = substr($0, 1, at - 1); rest = substr($0, at + 1)
      at = index(rest, ":"); row = substr(rest, 1, at - 1); line = substr(rest, at + 1)
    }
    path ~ /^tests\// { next }
    NR == FNR { if (path ~ /\.h$/) header_line(path, line); next }
    path ~ /\.h$/ { next }
    path != file { file = path; candidate = ""; before = "" }
    line ~ /^[A-Za-z_]/ {
      candidate = ""
      if (match(line, /orr_[a-z0-9_]+\(/) &&
          (before substr(line, 1, RSTART - 1)) !~ /(^| )(static|typedef|extern|return) /) {
        match(line, /orr_[a-z0-9_]+\(/)
        candidate = substr(line, RSTART, RLENGTH - 1)
        place = path ":" row
      }
      before = line ~ /[;{}]/ ? "" : line " "
    }
    line !~ /^[A-Za-z_]/ && line ~ /[;{}]/ { before = "" }
    candidate != "" && line ~ /^[^;]*\{/ { end_definition(); candidate = "" }
    candidate != "" && line ~ /;/ { candidate = "" }' "$work/code" "$work/code"
}

rule_file_size() {
  awk 'FNR == 601 { print FILENAME ": more than 600 lines" }' $(sources) /dev/null
}

rule_header_size() {
  awk 'FNR == 251 && FILENAME !~ /^tests\// { print FILENAME ": a header of more than 250 lines" }' \
    $(sources | grep '\.h$') /dev/null
}

rule_function_size() {
  awk '
    FNR == 1 { in_body = 0; head = 0 }
    !in_body && /^[A-Za-z_]/ { head = FNR }
    !in_body && head && /\) *\{$/ { in_body = 1; begin = head; next }
    in_body && /^\}/ {
      if (FNR - begin + 1 > 60) print FILENAME ":" begin ": a function of " FNR - begin + 1 " lines; 60 are too many"
      in_body = 0; head = 0
    }' $(sources) /dev/null
}

# Code and comments have 100 columns; CUDA too.
rule_columns() {
  awk 'length($0) > 100 { print FILENAME ":" FNR ": " length($0) " columns; 100 are the most" }' $(sources) /dev/null
}

rule_format() {
  command -v clang-format > /dev/null || { echo "SKIP there is no clang-format"; return; }
  sums "$here/../.clang-format" > "$work/style"
  sums $(sources) | sed "s|^|$(cut -d ' ' -f 1 "$work/style")-|" > "$work/format"
  files=$(changed "$passed/formatted" < "$work/format")
  [ -n "$files" ] || return 0
  clang-format --style="file:$here/../.clang-format" --dry-run $files 2>&1 |
    sed -n 's/^\([^:]*:[0-9]*\):.*code should be clang-formatted.*/\1: not as clang-format -i writes it/p' |
    sort -u > "$work/unformatted"
  awk -v bad="$work/unformatted" '
    BEGIN { while ((getline line < bad) > 0) { split(line, place, ":"); is_bad[place[1]] = 1 } }
    !($2 in is_bad)' "$work/format" > "$work/formatted" && cp "$work/formatted" "$passed/formatted"
  cat "$work/unformatted"
}

# Each file begins with a comment that says what it does: more than "see that header".
rule_head_comments() {
  awk '
    FNR == 1 { text = ""; inside = ($0 ~ /^\/\*/); if (!inside) print FILENAME ":1: no head comment" }
    !inside { next }
    { text = text " " $0 }
    /\*\// {
      inside = 0
      gsub(/[\/*]/, " ", text)
      sub(/[a-z0-9_]+\.[a-z]+ - /, "", text)
      gsub(/[Ss]ee [a-z0-9_]+\.[a-z]+/, "", text)
      gsub(/[^A-Za-z0-9_-]+/, " ", text)
      if (split(text, words, " ") < 4) print FILENAME ":1: a head comment of fewer than four words"
    }' $(sources) /dev/null
}

rule_printing() {
  refuse_code '(^|[^A-Za-z0-9_])((v?printf|puts|putchar|perror|g_print|g_printerr|g_message|g_warning|g_debug|g_info) *[(]|(stdout|stderr)([^A-Za-z0-9_]|$))' \
    'only sim/cli prints'
}

# _exit is what a forked child leaves by.
rule_exiting() {
  refuse_code '(^|[^A-Za-z0-9_])(exit|quick_exit|abort|g_error|g_abort) *[(]' \
    'library code returns a GError; it does not end the process'
}

rule_cxx() {
  find . -path ./tests/lint_fixtures -prune -o -path './build*' -prune -o -path ./.git -prune -o -type f \
    \( -name '*.cpp' -o -name '*.cc' -o -name '*.cxx' -o -name '*.hpp' \) -print | sed 's|^\./||' |
    awk '$0 != "sim/engine/engine_simgrid.cpp" { print $0 ": the only C++ is sim/engine/engine_simgrid.cpp" }'
}

rule_goto() {
  sed -n 's/^\([^:]*:[0-9]*\):\(.*[^A-Za-z0-9_]\)*goto[ \t].*/\1: no goto: g_autoptr cleans up/p' "$work/code"
}

# What one dialect does differently is a member of OrrLaunchDialect, which a new one sets in its own file.
rule_dialects() {
  refuse_code '[!=]= *&orr_dialect_' 'compares with one dialect: give OrrLaunchDialect a member'
}

# The headers that come first in a source which each build compiles: where they include glib.h themselves, or through
# another header, the build has shown that they need nothing before them. (glib.h can come before them, compiled.)
first_headers() {
  sources | grep '\.c$' | grep -v '^calibration/measure/cuda/\|^tests/' | xargs -r awk '
    FNR == 1 { is_found = 0 }
    !is_found && /^[ \t]*#[ \t]*include/ { is_found = 1; split($0, quoted, "\""); print quoted[2] }'
}

# A key for each header that no source has first: its checksum and the checksums of all that it includes from the tree, as
# "KEY FILE".
header_keys() {
  headers=$(sources | grep '\.h$')
  sums $headers > "$work/sums"
  first_headers > "$work/first"
  awk '
    function visit(file,   k, n, included) {
      if (file in seen) return
      seen[file] = 1
      has_glib = has_glib || file in glib
      for (k = 1; k <= length(sum[file]); k++)
        key = (key * 131 + index("-0123456789", substr(sum[file], k, 1))) % 9007199254
      n = split(includes[file], included, " ")
      for (k = 1; k <= n; k++) visit(included[k])
    }
    FILENAME ~ /first$/ { first[$0]; next }
    /^[ \t]*#[ \t]*include[ \t]*<glib.h>/ { glib[FILENAME] }
    FILENAME ~ /sums$/ && !/#/ { sum[$2] = $1; order[++n_files] = $2; next }
    /^[ \t]*#[ \t]*include[ \t]*"/ { split($0, quoted, "\""); includes[FILENAME] = includes[FILENAME] " " quoted[2] }
    END {
      for (i = 1; i <= n_files; i++) {
        split("", seen); key = 7; has_glib = 0
        visit(order[i])
        if (order[i] in first && has_glib) continue
        if (order[i] !~ /^tests\/|^calibration\/measure\/hip\//) print key, order[i]
      }
    }' "$work/first" "$work/sums" $headers
}

# Each public header compiles with nothing before it, but for those in the place of a toolkit's, which need HIP's.
rule_headers_alone() {
  sources | grep -q '\.h$' || return 0
  header_keys > "$work/keys"
  headers=$(changed "$passed/headers" < "$work/keys")
  [ -n "$headers" ] || return 0
  ${CC:-cc} -std=gnu11 -fsyntax-only -w -I. $(pkg-config --cflags glib-2.0 sqlite3) -x c $headers 2>&1 |
    grep 'error:' || cp "$work/keys" "$passed/headers"
}

rule_data_only() {
  find scenarios models/zoo topologies/devices topologies/clusters calibration/profiles -type f \
    ! -name '*.yaml' ! -name '*.csv' ! -name '*.jsonl' ! -name '*.goal' ! -name README.md ! -name '.*' 2>/dev/null |
    sed 's|$|: this folder holds documents alone|'
}

# Lists of files in meson.build, one name a line, are sorted, and each source is in one of them.
rule_lists() {
  [ -f meson.build ] || return 0
  {
    sources | grep -v '\.h$'
    find results -name '*.sql' -o -name '*.gp' -o -name '*.js'
    find tests -path tests/lint_fixtures -prune -o -name 'test_*.sh' -print -o -name 'test_*.py' -print
  } 2> /dev/null | grep -v '^scenarios/' > "$work/listed"
  awk '
    function base(path) { sub(/.*\//, "", path); return path }
    FNR == 1 { before = "" }
    FILENAME ~ /listed$/ { if (!(base($0) in named)) print $0 ": in no list of a meson.build"; next }
    {
      n = split($0, quoted, "\047")
      for (i = 2; i <= n; i += 2) named[base(quoted[i])]
      name = n == 3 && $0 ~ /^ *\047[^\047]*\047,$/ ? quoted[2] : ""
      if (name != "" && name <= before) print FILENAME ":" FNR ": \047" name "\047 stands after \047" before "\047"
      before = name
    }' $(find . -path ./tests/lint_fixtures -prune -o -path './build*' -prune -o -name meson.build -print |
    sed 's|^\./||' | sort) "$work/listed"
}

# A folder with more than five files has a README. Folders of tests mirror the tree, and need none.
rule_readmes() {
  find sim models topologies workloads calibration results scenarios -type f ! -name README.md ! -name meson.build \
    ! -name '.*' 2>/dev/null | sed 's|/[^/]*$||' | sort | uniq -c | while read -r n folder; do
      [ "$n" -le 5 ] || [ -f "$folder/README.md" ] || echo "$folder: $n files and no README.md"
    done
}

rule_top_level() {
  for name in *; do
    case $name in
    sim | models | topologies | workloads | calibration | scenarios | results | tests | docs) ;;
    meson.build | meson.options | meson_options.txt | Makefile | README.md | CHANGELOG.md | CITATION.cff | LICENSE) ;;
    ARCHITECTURE.md | CONTRIBUTING.md) ;;
    build* | *.db | *.db-wal | *.db-shm | *.trace.json) ;; # made here, and ignored by git
    *) echo "$name: not a name of the top level" ;;
    esac
  done
}

# Names and terms that codespell takes for typing errors; words that tests and documents misspell on purpose.
rule_spelling() {
  command -v codespell > /dev/null || { echo "SKIP there is no codespell"; return; }
  find . \( -path ./.git -o -path './build*' -o -path ./tests -o -path ./docs/reference -o -path ./calibration/profiles \) \
    -prune -o -type f \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.md' -o -name '*.sql' -o -name '*.gp' \
    -o -name '*.yaml' -o -name '*.sh' -o -name '*.py' -o -name meson.build \) -print | sed 's|^\./||' | sort |
    xargs codespell --quiet-level 3 --ignore-words-list 'cann,clos,mape,map,iif,inflight,shepard,statics,trough,paralel,te,reqeuest' 2>&1
}

# Phrasings that tests/prose.txt bans.
rule_prose() {
  "$here/prose.sh" . | grep -v '^tests/lint_test.sh'
}

code > "$work/code"
n=0
status=0
for rule in $rules; do
  n=$((n + 1))
  found=$("rule_$(echo "$rule" | tr - _)" | head -n 50)
  if [ -z "$found" ]; then
    echo "ok $n - lint: $rule"
  elif [ "${found#SKIP }" != "$found" ]; then
    echo "ok $n - lint: $rule # $found"
  else
    echo "not ok $n - lint: $rule"
    echo "$found" | sed 's/^/# /'
    status=1
  fi
done
echo "1..$n"
exit $status
