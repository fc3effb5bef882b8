#!/bin/sh
# test_readme.sh ORRERY FILE... - runs the commands that README and docs show (lines of ```console blocks that begin with
# "$ ") in a folder of its own, and compares what they print with the lines that follow. TAP, a line a command.
#
# 1. A command must exit with 0, every part of a pipe too. A block that shows a failure shows its exit status as well:
#    `orrery ...; echo $?`.
# 2. "..." stands for any text within a line; a line of "..." alone stands for any lines. Neither hides a diagnostic (a
#    line with "error:" or "warning:", or one that begins with "orrery:"): the block shows its message.
# 3. Commands that set the machine up (make, git, apt-get, sudo, cd) are not run. Commands that draw are skipped where
#    gnuplot is not installed. Both are reported as skipped.
#
# Output is stdout and stderr together.
set -u
orrery=$(realpath "$1") || exit 1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/here"
ln -s "$orrery" "$work/bin/orrery"
for name in scenarios models topologies calibration workloads; do
  ln -s "$root/$name" "$work/here/$name"
done
PATH=$work/bin:$PATH
ORRERY_SHIPPED=$root
export PATH ORRERY_SHIPPED

# Cuts FILE into $work/N.cmd and $work/N.want; prints how many there are.
cut_blocks() {
  awk -v work="$work" '
    /^ *```console/ { inside = 1; next }
    /^ *```/ { inside = 0; next }
    inside && /^ *\$ / { n++; sub(/^ *\$ /, ""); print > (work "/" n ".cmd"); printf "" > (work "/" n ".want"); next }
    inside && n { print > (work "/" n ".want") }
    END { print n + 0 }' "$1"
}

# Whether the lines of the second file are what the first one wants.
matches() {
  awk '
    function marker(text) { # the word that makes @text a diagnostic
      if (match(text, /(^|[ :])(error|warning): /) || match(text, /^orrery: /)) return substr(text, RSTART, RLENGTH)
      return ""
    }
    function shows(wanted, word,   at, rest) { # some of the message stands behind the marker
      at = index(wanted, substr(word, match(word, /[a-z]/)))
      rest = substr(wanted, at)
      gsub(/[.][.][.]/, "", rest)
      return at && length(rest) >= length(word) + 8
    }
    function like(text, wanted,   parts, k, at, rest) { # "..." in @wanted stands for any text
      k = split(wanted, parts, /[.][.][.]/)
      if (k <= 1) return text == wanted
      if (marker(text) && !shows(wanted, marker(text))) return 0
      if (substr(text, 1, length(parts[1])) != parts[1]) return 0
      rest = substr(text, length(parts[1]) + 1)
      for (at = 2; at < k; at++) {
        if (parts[at] == "") continue
        if (!index(rest, parts[at])) return 0
        rest = substr(rest, index(rest, parts[at]) + length(parts[at]))
      }
      return length(rest) >= length(parts[k]) && substr(rest, length(rest) - length(parts[k]) + 1) == parts[k]
    }
    FNR == NR { want[++n] = $0; next }
    { got[++m] = $0 }
    function from(i, j,   k) {
      if (i > n) return j > m
      if (want[i] == "...") {
        for (k = j; k <= m + 1; k++) {
          if (from(i + 1, k)) return 1
          if (marker(got[k])) return 0
        }
        return 0
      }
      return j <= m && like(got[j], want[i]) && from(i + 1, j + 1)
    }
    END { exit !from(1, 1) }' "$1" "$2"
}

n=0
status=0
for file in "$@"; do
  rm -f "$work"/*.cmd "$work"/*.want
  total=$(cut_blocks "$file")
  i=0
  while [ "$i" -lt "$total" ]; do
    i=$((i + 1))
    n=$((n + 1))
    command=$(cat "$work/$i.cmd")
    name="$(basename "$file"): $(echo "$command" | tr '#' ' ')"
    case $command in
    make* | git* | apt-get* | sudo* | cd\ *)
      echo "ok $n - $name # SKIP sets the machine up"
      continue
      ;;
    "orrery plot"*)
      if ! command -v gnuplot > /dev/null; then
        echo "ok $n - $name # SKIP gnuplot is not installed"
        continue
      fi
      ;;
    esac
    (cd "$work/here" && bash -o pipefail -c "$command" < /dev/null) > "$work/got" 2>&1
    exited=$?
    if [ "$exited" -eq 0 ] && matches "$work/$i.want" "$work/got"; then
      echo "ok $n - $name"
    else
      echo "not ok $n - $name"
      [ "$exited" -eq 0 ] || echo "# exit status $exited, wanted 0 (a block that shows a failure ends in: ; echo \$?)"
      echo "# wanted:"; sed 's/^/#   /' "$work/$i.want"
      echo "# got:"; sed 's/^/#   /' "$work/got"
      status=1
    fi
  done
done
[ "$n" -gt 0 ] || { echo "ok 1 - no console blocks # SKIP"; n=1; }
echo "1..$n"
exit $status
