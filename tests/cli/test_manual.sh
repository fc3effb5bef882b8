#!/bin/sh
# test_manual.sh ORRERY - the manual page and the completion know every verb and option, and their readers take them. TAP.
set -u
orrery=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$orrery"):$PATH
cd "$work" || exit 1
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; fi; }

"$orrery" help --man > page.1
"$orrery" help --completion > completion.bash
missing=0
for verb in $("$orrery" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vx help); do
  grep -q "^\.SS orrery $verb " page.1 || missing=1
  for option in $("$orrery" help "$verb" | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p'); do
    grep -q -- "--$option" completion.bash || missing=1
  done
done
check "every verb is in the page, every option in the completion" '[ $missing = 0 ]'
check "bash reads the completion" 'bash -n completion.bash'
completed=$(bash -c '. ./completion.bash; COMP_WORDS=(orrery comp); COMP_CWORD=1; _orrery; echo "${COMPREPLY[*]}"')
check "comp becomes compare" '[ "$completed" = compare ]'
completed=$(bash -c '. ./completion.bash; COMP_WORDS=(orrery plot r.db timel); COMP_CWORD=3; _orrery; echo "${COMPREPLY[*]}"')
check "timel becomes timeline" '[ "$completed" = timeline ]'
for shell in fish zsh; do
  "$orrery" help --completion $shell > completion.$shell
  missing=0
  for verb in $("$orrery" help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -vx help); do
    grep -q -- "[ '(]$verb[:) ]" completion.$shell || missing=1
    for option in $("$orrery" help "$verb" | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' | grep -vx 'help\|library'); do
      grep -q -- "-l $option \|--$option\[" completion.$shell || missing=1
    done
  done
  check "every verb and option is in the completion of $shell" '[ $missing = 0 ]'
  if command -v $shell > /dev/null; then
    check "$shell reads it" '$shell -n completion.$shell'
  else
    n=$((n + 1))
    echo "ok $n - $shell reads it # SKIP $shell is not installed"
  fi
done
check "another shell is refused" '! "$orrery" help --completion tcsh > said 2>&1 && grep -q "known: bash, fish, zsh" said'
if command -v groff > /dev/null; then
  groff -man -Tascii -ww -z page.1 2> said
  check "groff takes the page without a warning" '[ ! -s said ]'
else
  n=$((n + 1))
  echo "ok $n - groff takes the page without a warning # SKIP groff is not installed"
fi
echo "1..$n"
