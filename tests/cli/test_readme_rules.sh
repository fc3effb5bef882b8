#!/bin/sh
# test_readme_rules.sh - test_readme.sh fails a document that hides a failure: each of its rules has a block that breaks
# it, run with a stand-in for orrery. TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

cat > "$work/stand-in" <<'END'
#!/bin/sh
case $1 in
fail) echo "a.yaml:3:1: error: nothing called 'x': did you mean 'y'" >&2; exit 2 ;;
warn) echo one; echo "warning: the trace is short" >&2; echo two ;;
tell) echo "orrery: a.json: not mapped: foo" >&2; echo one ;;
*) echo one; echo two; echo three ;;
esac
END
chmod +x "$work/stand-in"

# holds NAME VERDICT COMMAND LINES: what test_readme.sh says of a block of COMMAND and LINES.
holds() {
  n=$((n + 1))
  printf '```console\n$ %s\n%s\n```\n' "$3" "$4" > "$work/block.md"
  "$here/test_readme.sh" "$work/stand-in" "$work/block.md" > "$work/said" 2>&1
  if grep -q "^$2 1 - " "$work/said"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' "$work/said"; fi
}

holds "the lines printed" ok "orrery" "one
two
three"
holds "other lines" "not ok" "orrery" "one
three"
holds "dots for lines" ok "orrery" "one
..."
holds "dots within a line" ok "orrery" "o...e
t...
...ree"
holds "a failure behind dots" "not ok" "orrery fail" "..."
holds "a failure whose message is shown, without its status" "not ok" "orrery fail" "...error: nothing called 'x'..."
holds "a failure with its message and status" ok 'orrery fail; echo $?' "...error: nothing called 'x'...
2"
holds "a failure with its status and no message" "not ok" 'orrery fail; echo $?' "...
2"
holds "an error whose message is all dots" "not ok" 'orrery fail; echo $?' "...error: ...
2"
holds "a failure at the head of a pipe" "not ok" "orrery fail 2>&1 | cat" "...error: nothing called 'x'..."
holds "a warning behind dots" "not ok" "orrery warn" "one
...
two"
holds "a warning behind dots at the end" "not ok" "orrery warn" "one
..."
holds "a warning that is shown" ok "orrery warn" "one
warning: the trace is ...
two"
holds "a remark on stderr behind dots" "not ok" "orrery tell" "...
one"
echo "1..$n"
