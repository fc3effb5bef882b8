#!/bin/sh
# test_deb.sh DEB.SH - make deb: two packages of one tree are equal, byte by byte, whenever, in whatever order and by whomever
# its files were installed, with programs that stand for meson and ninja. TAP.
set -u
deb=$(realpath "$1") || exit 1
for program in dpkg-deb dpkg-shlibdeps; do
  command -v $program > /dev/null || { echo "1..0 # skip $program is not installed"; exit 0; }
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
cd "$work" || exit 1
mkdir bin build
touch build/build.ninja
echo "# Changelog" > CHANGELOG.md
stand_in() { cat > "bin/$1" && chmod +x "bin/$1"; }
printf '#!/bin/sh\n' | stand_in ninja
stand_in meson <<'END_OF_MESON'
#!/bin/sh
[ "$1" = introspect ] && { echo '{"version": "1.2.3"}'; exit; }
mkdir -p "$DESTDIR/usr/bin" "$DESTDIR/usr/share/man/man1" "$DESTDIR/usr/share/orrery"
cp "$(command -v true)" "$DESTDIR/usr/bin/orrery"
echo manual > "$DESTDIR/usr/share/man/man1/orrery.1"
for file in $ORDER; do echo "$file" > "$DESTDIR/usr/share/orrery/$file"; done
END_OF_MESON
package() { # FOLDER ORDER UMASK ZONE DATE
  (umask "$3"; PATH=$work/bin:$PATH ORDER=$2 TZ=$4 SOURCE_DATE_EPOCH=$5 DEBEMAIL=a@example.org sh "$deb" build "$1") > said 2>&1
}

package one "a b c d" 022 UTC 1700000000
check "a package is made" '[ $? -eq 0 ] && [ -s one/orrery_1.2.3-1~local1_*.deb ]'
sleep 1.1 # a modification time has seconds
package two "d c b a" 077 Asia/Tokyo 1700000000
check "another one of the same tree is equal" 'cmp one/*.deb two/*.deb > said 2>&1'
package three "a b c d" 022 UTC 1800000000
check "dates are those of SOURCE_DATE_EPOCH" '! cmp -s one/*.deb three/*.deb && dpkg-deb -c one/*.deb > said && ! grep -v "2023-11-1[45]" said'
echo "1..$n"
