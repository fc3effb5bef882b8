#!/bin/sh
# test_readme.sh ORRERY FILE... - what README and docs show is what happens: runs the commands of their ```console
# blocks (lines that begin with "$ ") in a folder of its own and holds their output against the lines that follow. "..."
# stands for any text within a line; a line of "..." alone for any lines. TAP, a line a command.
#
# Commands that set the machine up (make, git, apt-get, sudo, cd) are not run. Output is stdout and stderr together.
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
    function like(text, wanted,   parts, k, at, rest) { # "..." in @wanted stands for any text
      k = split(wanted, parts, /[.][.][.]/)
      if (k <= 1) return text == wanted
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
        for (k = j; k <= m + 1; k++) if (from(i + 1, k)) return 1
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
    esac
    (cd "$work/here" && sh -c "$command" < /dev/null) > "$work/got" 2>&1
    if matches "$work/$i.want" "$work/got"; then
      echo "ok $n - $name"
    else
      echo "not ok $n - $name"
      echo "# wanted:"; sed 's/^/#   /' "$work/$i.want"
      echo "# got:"; sed 's/^/#   /' "$work/got"
      status=1
    fi
  done
done
[ "$n" -gt 0 ] || { echo "ok 1 - no console blocks # SKIP"; n=1; }
echo "1..$n"
exit $status
