#!/bin/sh
# lint.sh [ROOT] - holds the tree to its own rules: floors, foreign headers, names, sizes, who may print and exit.
# TAP output, a line a rule, each finding below it; exit status 1 when any rule is broken. tests/lint_fixtures/RULE is a
# small tree that breaks RULE and nothing else (tests/lint_test.sh).
#
# To add a rule: a function that prints one finding a line and nothing where all is well, its name in `rules` below, a
# fixture folder of that name.
# shellcheck disable=SC2046,SC2086,SC2317  # lists of files are split on purpose; rules are called by name
set -u
cd "${1:-.}" || exit 2
LC_ALL=C
export LC_ALL

rules='floors foreign-headers includes-from-root unique-names file-size function-size printing exiting cxx goto
  headers-alone data-only top-level'

# Sources but for the fixtures, which break rules on purpose.
sources() {
  find sim models topologies workloads calibration results tests scenarios -path tests/lint_fixtures -prune -o \
    -type f \( -name '*.c' -o -name '*.h' -o -name '*.cpp' \) -print 2>/dev/null | sort
}

# awk over the sources named, with comments and literals blanked: code[] is the line, FILENAME and FNR its place.
over_code() {
  program=$1
  shift
  [ $# -gt 0 ] || return 0
  awk '
    function blank(line,   out, end) {
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
        } else {
          out = out substr(line, 1, 1)
          line = substr(line, 2)
        }
      }
      return out
    }
    FNR == 1 { in_comment = 0 }
    { code = blank($0) }
    '"$program" "$@"
}

# Who may include whom: the table of the house, floor by floor.
rule_floors() {
  awk '
    BEGIN {
      may["sim/base"] = "sim/base"
      may["sim/engine"] = "sim/base sim/engine"
      may["models"] = "sim/base models"
      may["topologies"] = "sim/base sim/engine topologies"
      may["calibration"] = "sim/base models topologies calibration"
      may["workloads"] = "sim/base sim/engine models topologies calibration workloads"
      may["results"] = "sim/base results"
      may["sim/run"] = "sim/base sim/engine models topologies calibration workloads results sim/run"
      may["sim/sweep"] = may["sim/run"] " sim/sweep"
      may["sim/validate"] = may["sim/run"] " sim/validate"
      may["sim/calibrate"] = may["sim/run"] " sim/calibrate"
      may["sim/cli"] = may["sim/run"] " sim/sweep sim/validate sim/calibrate sim/cli"
    }
    function folder(path,   parts, n) {
      n = split(path, parts, "/")
      return parts[1] == "sim" && n > 2 ? parts[1] "/" parts[2] : parts[1]
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      from = folder(FILENAME); to = folder(quoted[2])
      if (from in may && index(quoted[2], "/") && index(" " may[from] " ", " " to " ") == 0)
        print FILENAME ":" FNR ": " from " may not use " to " (" quoted[2] ")"
    }' $(sources) /dev/null
}

# Each foreign library in one place.
rule_foreign_headers() {
  awk '
    /^[ \t]*#[ \t]*include[ \t]*</ {
      header = $0; sub(/^[^<]*</, "", header); sub(/>.*/, "", header)
      if (FILENAME ~ /^tests\//) next
      if (header == "sqlite3.h" && FILENAME !~ /^results\//) print FILENAME ":" FNR ": only results/ uses SQLite"
      if (header ~ /^simgrid\// && FILENAME != "sim/engine/engine_simgrid.cpp")
        print FILENAME ":" FNR ": only sim/engine/engine_simgrid.cpp uses SimGrid"
      if (header == "yaml.h" && FILENAME != "sim/base/yaml.c")
        print FILENAME ":" FNR ": only sim/base/yaml.c uses libyaml"
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

rule_file_size() {
  awk 'FNR == 601 { print FILENAME ": more than 600 lines" }' $(sources) /dev/null
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

rule_printing() {
  over_code '
    FILENAME !~ /^(sim\/cli|tests)\// &&
    code ~ /(^|[^A-Za-z0-9_])(v?printf|puts|putchar|perror|g_print|g_printerr|g_message|g_warning|g_debug|g_info) *\(/ {
      print FILENAME ":" FNR ": only sim/cli prints"
    }
    FILENAME !~ /^(sim\/cli|tests)\// && code ~ /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/ {
      print FILENAME ":" FNR ": only sim/cli prints"
    }' $(sources)
}

# _exit is what a forked child leaves by.
rule_exiting() {
  over_code '
    FILENAME !~ /^(sim\/cli|tests)\// && code ~ /(^|[^A-Za-z0-9_])(exit|quick_exit|abort|g_error|g_abort) *\(/ {
      print FILENAME ":" FNR ": library code gives a GError back; it does not end the process"
    }' $(sources)
}

rule_cxx() {
  find . -path ./tests/lint_fixtures -prune -o -path './build*' -prune -o -path ./.git -prune -o -type f \
    \( -name '*.cpp' -o -name '*.cc' -o -name '*.cxx' -o -name '*.hpp' \) -print | sed 's|^\./||' |
    awk '$0 != "sim/engine/engine_simgrid.cpp" { print $0 ": the only C++ is sim/engine/engine_simgrid.cpp" }'
}

rule_goto() {
  over_code 'code ~ /(^|[^A-Za-z0-9_])goto[ \t]/ { print FILENAME ":" FNR ": no goto: g_autoptr cleans up" }' $(sources)
}

# Each public header compiles with nothing before it.
rule_headers_alone() {
  headers=$(sources | grep '\.h$' | grep -v '^tests/')
  [ -n "$headers" ] || return 0
  ${CC:-cc} -std=gnu11 -fsyntax-only -w -I. $(pkg-config --cflags glib-2.0 sqlite3) -x c $headers 2>&1 | grep 'error:'
}

rule_data_only() {
  find scenarios models/zoo topologies/devices topologies/clusters calibration/profiles workloads/recipes -type f \
    ! -name '*.yaml' ! -name '*.csv' ! -name '*.jsonl' ! -name README.md ! -name '.*' 2>/dev/null |
    sed 's|$|: this folder holds documents alone|'
}

rule_top_level() {
  for name in *; do
    case $name in
    sim | models | topologies | workloads | calibration | scenarios | results | tests | docs) ;;
    meson.build | meson.options | meson_options.txt | Makefile | README.md | CHANGELOG.md | LICENSE) ;;
    build* | *.db | *.db-wal | *.db-shm | *.trace.json) ;; # made here, and ignored by git
    *) echo "$name: not a name of the top level" ;;
    esac
  done
}

n=0
status=0
for rule in $rules; do
  n=$((n + 1))
  found=$("rule_$(echo "$rule" | tr - _)" | head -n 50)
  if [ -z "$found" ]; then
    echo "ok $n - lint: $rule"
  else
    echo "not ok $n - lint: $rule"
    echo "$found" | sed 's/^/# /'
    status=1
  fi
done
echo "1..$n"
exit $status
