#!/bin/sh
# run_test.sh - run.sh counts the cases and the processor seconds of each program, runs none twice, and ends as a failed
# program ends. TAP. A stand-in for meson runs two programs under the wrapper: a/one passes, b/two is what BROKEN says.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/build/meson-logs" "$work/bin"
cat > "$work/bin/meson" <<'END'
#!/bin/sh
while [ "$1" != --wrapper ]; do shift; done
log=$BUILD/meson-logs/testlog-timed.sh.txt
$2 "$BUILD/../bin/one" > "$log"
$2 "$BUILD/../bin/two" >> "$log"
status=$?
[ $status -le 128 ] || echo "result:  killed by signal" >> "$log"
exit $status
END
cat > "$work/bin/one" <<'END'
#!/bin/sh
i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done
echo "ok 1 - one"
END
cat > "$work/bin/two" <<'END'
#!/bin/sh
echo run >> "$BUILD/runs"
case $BROKEN in
no) echo "ok 1 - two" ;;
case) echo "not ok 1 - two"; exit 1 ;;
signal) kill -s ABRT $$ ;;
esac
END
chmod +x "$work/bin/"*
n=0

# says NAME BROKEN WANTED-LAST-LINE WANTED-STATUS
says() {
  n=$((n + 1))
  rm -f "$work/build/runs"
  found=$(PATH=$work/bin:$PATH BUILD=$work/build BROKEN=$2 "$here/run.sh" "$work/build" 2> /dev/null)
  status=$?
  longest=$(printf '%s\n' "$found" | sed -n '/^processor seconds: /{n;s/.* //p;}')
  if [ "$(printf '%s\n' "$found" | tail -n 1)" = "$3" ] && [ "$status" = "$4" ] && [ "$longest" = one ] &&
    [ "$(wc -l < "$work/build/runs")" = 1 ] && [ "$(wc -l < "$work/build/meson-logs/seconds.txt")" = 2 ]; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1"
    printf '%s\nstatus %s\n' "$found" "$status" | sed 's/^/# /'
  fi
}

says "cases and seconds are counted" no "2 passed, 0 failed" 0
says "a program that fails has failed, and runs once" case "1 passed, 1 failed" 1
says "a program that a signal ends has failed" signal "1 passed, 1 failed" 1
echo "1..$n"
