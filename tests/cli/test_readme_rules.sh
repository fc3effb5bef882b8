#!/bin/sh
# test_readme_rules.sh - test_readme.py and test_documents.py fail documents that lie: each of their rules has a document
# that breaks it. Blocks run a stand-in for orrery. TAP.
# shellcheck disable=SC2016  # backquotes are Markdown's
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0

cat > "$work/stand-in" <<'END'
#!/bin/sh
case $1 in
fail) echo "a.yaml:3:1: error: nothing called 'x': did you mean 'y'? (known: y, z)" >&2; exit 2 ;;
warn) echo one; echo "warning: the trace is short" >&2; echo two ;;
tell) echo "orrery: a.json: not mapped: foo" >&2; echo one ;;
time) echo "  iteration     29.16 s, 105.3 tokens/s per GPU"; echo "  replay        folded: 12 events in 0.37 s" ;;
*) echo one; echo two; echo three ;;
esac
END
chmod +x "$work/stand-in"

# verdict NAME WANTED: whether the TAP lines in $work/said are as WANTED says, all ok or one not ok.
verdict() {
  n=$((n + 1))
  said=ok
  grep -q '^not ok' "$work/said" && said="not ok"
  if [ "$said" = "$2" ]; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' "$work/said"; fi
}

# page NAME WANTED: what test_readme.py says of $work/page.md.
page() {
  "$here/test_readme.py" "$work/stand-in" "$work/page.md" > "$work/said" 2>&1
  verdict "$1" "$2"
}

# holds NAME WANTED COMMAND LINES: what it says of a block of COMMAND and LINES.
holds() {
  printf '```console\n$ %s\n%s\n```\n' "$3" "$4" > "$work/page.md"
  page "$1" "$2"
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
holds "a failure whose message is shown, without its status" "not ok" "orrery fail" "<place> error: nothing called 'x'..."
holds "a failure with its message and status" ok 'orrery fail; echo $?' \
  "<place> error: nothing called 'x': did you mean 'y'? (known: y, z)
2"
holds "a failure with its status and no message" "not ok" 'orrery fail; echo $?' "...
2"
holds "an error whose message is all dots" "not ok" 'orrery fail; echo $?' "a.yaml:3:1: error: ...
2"
holds "an error that leaves out what is known" ok 'orrery fail; echo $?' "a.yaml:3:1: error: nothing called 'x': ...
2"
holds "dots before the message of an error" "not ok" 'orrery fail; echo $?' \
  "...error: nothing called 'x': did you mean 'y'? (known: y, z)
2"
holds "a failure at the head of a pipe" "not ok" "orrery fail 2>&1 | cat" \
  "a.yaml:3:1: error: nothing called 'x': did you mean 'y'? (known: y, z)"
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
holds "dots that hide a figure" "not ok" "orrery time" "  iteration     ... s, ... tokens/s per GPU
..."
holds "a figure that is another" "not ok" "orrery time" "  iteration     28.3 s, 105.3 tokens/s per GPU
..."
holds "a figure that varies" ok "orrery time" "  iteration     29.16 s, 105.3 tokens/s per GPU
  replay        folded: 12 events in <seconds> s"

# prose NAME WANTED TEXT: what it says of TEXT in the section of a block that prints 29.16 s and 105.3 tokens/s.
prose() {
  printf '# A\n\n%s\n\n```console\n$ orrery time\n  iteration     29.16 s, 105.3 tokens/s per GPU\n...\n```\n' "$3" \
    > "$work/page.md"
  page "$1" "$2"
}

prose "a figure of the block" ok "A step takes 29.16 s."
prose "a figure of the block, rounded" ok "A step takes 29.2 s at 105 tokens/s."
prose "a figure in another unit" ok "A step takes 29160 ms."
prose "a figure that no block prints" "not ok" "A step takes 28.3 s."
prose "a list with a figure that no block prints" "not ok" "Steps take from 28.3 to 29.2 s."
prose "the figure of another unit" "not ok" "A step takes 29.16 GiB."
prose "an input" ok "A GPU is 20 % slower. <!-- given: 20 % -->"
prose "arithmetic on figures" ok "That is 14.6 s for half. <!-- figure: 29.16 / 2 = 14.6 s --> <!-- given: 2 -->"
prose "wrong arithmetic" "not ok" "That is 15.6 s for half. <!-- figure: 29.16 / 2 = 15.6 s --> <!-- given: 2 -->"
prose "arithmetic on a figure of nowhere" "not ok" "That is 14.2 s. <!-- figure: 28.4 / 2 = 14.2 s --> <!-- given: 2 -->"
prose "a figure of another section" "not ok" "It is fast.

## B

A step takes 29.16 s.

# C"
cat > "$work/page.md" <<'END'
# A

A step takes 28.3 s.

<!-- console
$ orrery time
  iteration     28.3 s, 105.3 tokens/s per GPU
...
-->
END
page "a block that the reader does not see is run too" "not ok"

# tree NAME WANTED: what test_documents.py says of the small tree in $work/tree.
tree() {
  "$here/test_documents.py" "$work/tree" > "$work/said" 2>&1
  verdict "$1" "$2"
}

plant() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/sim/base" "$work/tree/docs/modelling"
  touch "$work/tree/sim/base/quantity.c"
  printf '# Tree\n\n`sim/base/quantity.c`, `quantity.c`, [a page](docs/modelling/README.md#pages).\n' > "$work/tree/README.md"
  printf '# Pages\n\n## Pages\n\n[engine](engine.md), [sharing](engine.md#sharing)\n' > "$work/tree/docs/modelling/README.md"
  printf '# Engine\n\n## Sharing\n\n**Model.** m\n\n**Source.** s\n\n**Valid where** v\n\n**Known error.** e\n' \
    > "$work/tree/docs/modelling/engine.md"
}

plant
tree "a tree whose documents name what exists" ok
echo '`sim/run/quantity.c`' >> "$work/tree/README.md"
tree "a path that is not in the tree" "not ok"
plant
echo '`quantities.c`' >> "$work/tree/README.md"
tree "a file name that no file has" "not ok"
plant
echo '[a page](docs/modelling/README.md#contents)' >> "$work/tree/README.md"
tree "a link to no heading" "not ok"
plant
echo '[a page](docs/modelling.md)' >> "$work/tree/README.md"
tree "a link to no file" "not ok"
plant
printf '\n## Folding\n\n**Model.** m\n\n**Source.** s\n\n**Valid where** v\n\n**Known error.** e\n' \
  >> "$work/tree/docs/modelling/engine.md"
tree "a section that the contents leave out" "not ok"
plant
sed -i '/Valid where/d' "$work/tree/docs/modelling/engine.md"
tree "a section without a part" "not ok"
plant
printf '%0130d\n' 0 >> "$work/tree/README.md"
tree "a line that is too long" "not ok"
echo "1..$n"
