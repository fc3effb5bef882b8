#!/bin/sh
# prose.sh [ROOT] [FILE...] - lists the places whose wording tests/prose.txt bans: FILE:LINE: the phrase, what to write
# instead. Reads the comments and strings of C, the comments of YAML, SQL, gnuplot, meson and shell, Markdown but for its
# code blocks, and the tables of launch rules, whose reasons users see. A phrase that is broken over two lines is found
# too. Exit status 1 when anything is found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 2
[ $# -eq 0 ] || shift
LC_ALL=C
export LC_ALL

# What is written by hand. The fixtures break rules on purpose; generated files follow the program.
files() {
  find . \( -name .git -o -path './build*' -o -path ./docs/reference -o -path ./tests/lint_fixtures \
    -o -path ./tests/fuzz -o -path ./tests/models/huggingface \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.inc' -o -path './sim/import/launch/dialects/*.csv' -o -name '*.cpp' -o -name '*.cu' \
    -o -name '*.md' -o -name '*.yaml' -o -name '*.sql' -o -name '*.gp' -o -name '*.sh' \
    -o -name '*.py' -o -name meson.build \) -print | sed 's|^\./||' | sort
}

# shellcheck disable=SC2046  # a list of files is split on purpose
awk -v list="$here/prose.txt" '
  # The words of a line of C: what stands in comments and in strings; nothing else.
  function c_text(line,   out, end) {
    if (!in_comment && line !~ /["\/]/) return ""
    out = ""
    while (line != "") {
      if (in_comment) {
        end = index(line, "*/")
        if (!end) return out line
        out = out substr(line, 1, end - 1) " | "
        in_comment = 0
        line = substr(line, end + 2)
      } else if (match(line, /^"([^"\\]|\\.)*"/)) {
        if (!is_include) out = out substr(line, 2, RLENGTH - 2) " "
        line = substr(line, RLENGTH + 1)
      } else if (match(line, /^\047([^\047\\]|\\.)*\047/)) {
        line = substr(line, RLENGTH + 1)
      } else if (substr(line, 1, 2) == "//") {
        return out substr(line, 3)
      } else if (substr(line, 1, 2) == "/*") {
        in_comment = 1
        line = substr(line, 3)
      } else if (match(line, /^[^"\047\/]+/)) {
        if (substr(line, 1, RLENGTH) ~ /[;,)]/) out = out " | " # what stands in two arguments is not one sentence
        line = substr(line, RLENGTH + 1)
      } else {
        line = substr(line, 2)
      }
    }
    return out
  }
  function text_of(line) {
    if (kind == "c") { is_include = line ~ /^[ \t]*#[ \t]*include/; return c_text(line) }
    if (kind == "md") {
      if (line ~ /^[ \t]*```/) { fenced = !fenced; return "" }
      return fenced ? "" : line
    }
    mark = kind == "sql" ? "--" : "#"
    at = index(line, mark)
    return at && (at == 1 || substr(line, at - 1, 1) ~ /[ \t]/) ? substr(line, at + length(mark)) : ""
  }
  # Lower case, words between single blanks; "|" ends a sentence.
  function plain(text) {
    text = tolower(text)
    gsub(/`[^`]*`/, "`", text)
    gsub(/\\[nt]/, " ", text)
    gsub(/[.;:!?()"]+( |$)/, " | ", text)
    gsub(/[ \t*]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return " " text " "
  }
  function tail_of(text,   words, n) {
    n = split(text, words, " ")
    return (n > 2 ? words[n - 2] " " : "") (n > 1 ? words[n - 1] " " : "") (n ? words[n] : "")
  }
  BEGIN {
    while ((getline line < list) > 0) {
      if (line ~ /^#/ || line !~ /\t/) continue
      split(line, cell, "\t")
      if (cell[1] == "allow") { allowed = allowed (allowed ? "|" : "") cell[2]; continue }
      pattern[++n] = "[^a-z0-9_-](" cell[1] ")[^a-z0-9_-]"
      instead[n] = cell[2]
      any = any (any ? "|" : "") cell[1]
    }
    any = "[^a-z0-9_-](" any ")[^a-z0-9_-]"
    allowed = "[^a-z0-9_-](" allowed ")[^a-z0-9_-]"
  }
  FNR == 1 {
    in_comment = fenced = 0
    tail = ""
    kind = FILENAME ~ /\.(c|h|inc|cpp|cu)$/ ? "c" : FILENAME ~ /\.(md|csv)$/ ? "md" : FILENAME ~ /\.sql$/ ? "sql" : "hash"
  }
  {
    text = text_of($0)
    if (text ~ /^[ \t]*$/) { tail = ""; next }
    text = plain(text)
    whole = " " tail text
    gsub(allowed, " ~ ", whole)
    if (whole ~ any) {
      for (i = 1; i <= n; i++) {
        rest = whole
        while (match(rest, pattern[i])) {
          if (length(rest) - RSTART - RLENGTH + 2 < length(text)) {
            print FILENAME ":" FNR ": \"" substr(rest, RSTART + 1, RLENGTH - 2) "\": " instead[i]
            found = 1
          }
          rest = substr(rest, RSTART + RLENGTH - 1)
        }
      }
    }
    tail = tail_of(text)
  }
  END { exit found }' $([ $# -gt 0 ] && echo "$@" || files)
