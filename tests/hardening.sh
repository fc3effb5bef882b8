#!/usr/bin/env bash
# hardening.sh PROGRAM [FLAG...]: the built program has what the compiler could give it (meson.build says which flags it
# has): read from the ELF file itself, so that a flag that is lost on the way fails here.
set -uo pipefail
program=$1
shift
n=0 status=0

result() { # OK TITLE
  n=$((n + 1))
  [ "$1" = 0 ] || status=1
  echo "$([ "$1" = 0 ] && echo ok || echo "not ok") $n - $2"
}
skip() {
  n=$((n + 1))
  echo "ok $n - $1 # SKIP $2"
}
has_flag() { case " $flags " in *" $1 "*) return 0 ;; *) return 1 ;; esac }
# Looks for a pattern in what readelf says, where the build has the flag.
check() { # TITLE FLAG PATTERN READELF-OPTION...
  local title=$1 flag=$2 pattern=$3
  shift 3
  has_flag "$flag" || { skip "$title" "the compiler or the build type lacks $flag"; return; }
  grep -Eq "$pattern" <<<"$(readelf -W "$@" "$program")"
  result $? "$title"
}

flags="$* pie"
if [ "${1:-}" = none ]; then
  echo "1..0 # SKIP built with -Dhardening=false, or with sanitizers, which check more"
  exit 0
fi
if ! command -v readelf >/dev/null; then
  echo "1..0 # SKIP there is no readelf"
  exit 0
fi
check "PIE" pie "Type: +DYN" -h
check "the relocated tables become read-only" -Wl,-z,relro "GNU_RELRO" -l
check "all functions are bound at the start" -Wl,-z,now "BIND_NOW|Flags:.* NOW" -d
check "stacks have canaries" -fstack-protector-strong "__stack_chk_fail" --dyn-syms
check "string functions are checked" fortify "__[a-z]+_chk(@| |$)" --dyn-syms
# The ELF property would say less: startup files without it hide it for the whole program.
if has_flag -fcf-protection; then
  [ "$(objdump -d --no-show-raw-insn "$program" | grep -c endbr64)" -gt 100 ]
  result $? "indirect jumps land on marked places"
else
  skip "indirect jumps land on marked places" "the compiler lacks -fcf-protection"
fi
! grep -Eq "GNU_STACK.*RWE" <<<"$(readelf -W -l "$program")"
result $? "stacks are not executable"
echo "1..$n"
exit $status
