#!/bin/sh
# lint_test.sh - each rule of lint.sh has a fixture that breaks it, and it alone; a clean tree breaks none. TAP.
set -u
here=$(cd "$(dirname "$0")" && pwd)
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
cp -r "$here/lint_fixtures/." "$copy"

# A file of 601 lines, a header of 251 and a function of 61 (its two lines and 59 between them): made here rather than kept.
yes '/* One line more. */' | head -n 600 >> "$copy/file-size/models/long_file.c"
yes '/* One line more. */' | head -n 247 >> "$copy/header-size/models/long_header.h"
long=$copy/function-size/models/long_function.c
awk '{ print } /\{$/ { for (i = 0; i < 58; i++) print "  a++;" }' "$long" > "$copy/made" && mv "$copy/made" "$long"

n=0
status=0
check() { # NAME GOT WANTED
  n=$((n + 1))
  if [ "$2" = "$3" ]; then
    echo "ok $n - lint fixture: $1"
  else
    echo "not ok $n - lint fixture: $1"
    printf '%s\n' "broken rules: '$2', wanted '$3'" | sed 's/^/# /'
    status=1
  fi
}

broken() { # the names of the rules that the tree breaks; a rule that is skipped counts where it is the one meant
  "$here/lint.sh" "$1" | sed -n -e 's/^not ok [0-9]* - lint: //p' -e "s/^ok [0-9]* - lint: \(${2:-none}\) # SKIP.*/\1/p" |
    tr '\n' ' '
}

for rule in $(sed -n "/^rules='/,/'\$/p" "$here/lint.sh" | sed "s/^rules=//; s/'//g"); do
  if [ -d "$copy/$rule" ]; then
    check "$rule" "$(broken "$copy/$rule" "$rule")" "$rule "
  else
    check "$rule" "no fixture" "$rule "
  fi
done
# Each pattern of prose.txt is found in its fixture, with its own advice: several share one.
"$here/prose.sh" "$copy/prose" models/phrases.c > "$copy/found"
missed=$(awk -F '\t' '
  FNR == NR { found[++n] = $0; next }
  /^#/ || NF < 2 || $1 == "allow" { next }
  {
    for (i = 1; i <= n; i++) {
      phrase = found[i]
      sub(/^[^"]*"/, "", phrase)
      at = index(phrase, "\": " $2)
      if (at && substr(phrase, 1, at - 1) ~ "^(" $1 ")$") next
    }
    printf "%s; ", $1
  }' "$copy/found" "$here/prose.txt")
check "every phrase of prose.txt" "$missed" ''
check clean "$(broken "$copy/clean")" ''
echo "1..$n"
exit $status
