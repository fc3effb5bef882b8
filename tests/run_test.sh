#!/bin/sh
# run_test.sh - run.sh gives failed programs a second run only when asked, and a program that fails twice has failed. TAP.
# A stand-in for meson writes the logs: program b/two fails in its first run, c/three in both.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/build/meson-logs" "$work/bin"
cat > "$work/bin/meson" <<'END'
#!/bin/sh
base=testlog
case " $* " in *" --logbase again "*) base=again ;; esac
cd "$2/meson-logs" 2>/dev/null || cd "$3/meson-logs" || exit 9
program() { # NAME RESULT CASE
  printf 'test:         orrery / %s\nresult:       exit status 0\n%s\n' "$1" "$3" >> $base.txt
  printf '{"name": "orrery / %s", "stdout": "\\"result\\": \\"FAIL\\"", "result": "%s"}\n' "$1" "$2" >> $base.json
}
: > $base.txt
: > $base.json
if [ $base = testlog ]; then
  program a/one OK "ok 1 - a"
  program b/two FAIL "not ok 1 - b"
  [ "${BROKEN:-0}" = 0 ] || program c/three TIMEOUT "not ok 1 - c"
  exit 1
fi
program b/two OK "ok 1 - b"
[ "${BROKEN:-0}" = 0 ] || { program c/three FAIL "not ok 1 - c"; exit 1; }
END
chmod +x "$work/bin/meson"
n=0

# says NAME AGAIN BROKEN WANTED-LAST-LINE WANTED-STATUS
says() {
  n=$((n + 1))
  found=$(PATH=$work/bin:$PATH TESTS_AGAIN=$2 BROKEN=$3 "$here/run.sh" "$work/build")
  status=$?
  if [ "$(printf '%s\n' "$found" | tail -n 1)" = "$4" ] && [ "$status" = "$5" ]; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    printf '%s\nstatus %s\n' "$found" "$status" | sed 's/^/# /'
  fi
}

says "a failed program has failed" 0 0 "1 passed, 1 failed" 1
says "a second run that passes counts" 3 0 "2 passed, 0 failed" 0
says "a program that fails twice has failed" 3 1 "2 passed, 1 failed" 1
says "many failures are not run again" 1 1 "1 passed, 2 failed" 1
echo "1..$n"
