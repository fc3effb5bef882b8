#!/bin/sh
# deb.sh BUILD [FOLDER] - builds orrery_VERSION_ARCHITECTURE.deb into FOLDER (default: BUILD), and shows what lintian says
# where it is installed. BUILD is a build folder of its own, without tests, with the prefix /usr.
#
# Two builds of one commit are equal, byte by byte: dates are SOURCE_DATE_EPOCH, or the commit's, and files are listed in
# one order.
set -eu
build=$1
folder=${2:-$1}
for program in dpkg-deb dpkg-shlibdeps; do
  command -v $program > /dev/null || { echo "make deb needs $program: apt-get install dpkg-dev" >&2; exit 1; }
done
test -f "$build/build.ninja" ||
  meson setup "$build" --prefix=/usr --buildtype=release -Dtests=false -Dcuda=disabled --strip > /dev/null
ninja -C "$build" --quiet
version=$(meson introspect "$build" --projectinfo | sed 's/.*"version": "\([^"]*\)".*/\1/')
revision=1~local1
maintainer="${DEBFULLNAME:-Orrery developers} <${DEBEMAIL:-$(git log -1 --format=%ae 2> /dev/null || echo root@$(hostname -f))}>"
architecture=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/root
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet
rm -rf "$root"/usr/lib/*/*.a "$root"/usr/include
documents=$root/usr/share/doc/orrery
mkdir -p "$root/DEBIAN" "$documents" "$stage/debian"

# --- Documents ---

SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || date +%s)}
export SOURCE_DATE_EPOCH # dpkg-deb and gzip read it, too
now=$(date -R -u -d "@$SOURCE_DATE_EPOCH")
gzip -9nc CHANGELOG.md > "$documents/changelog.gz"
printf 'orrery (%s) stable; urgency=low\n\n  * Built by make deb.\n\n -- %s  %s\n' \
  "$version-$revision" "$maintainer" "$now" | gzip -9n > "$documents/changelog.Debian.gz"
cat > "$documents/copyright" << END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: orrery

Files: *
Copyright: 2025-2026 the Orrery developers
License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
END
gzip -9n "$root"/usr/share/man/man1/*.1
find "$root" -type f ! -perm -111 -exec chmod 644 {} +
find "$root" -name '*.so*' -exec chmod 644 {} +
find "$root" -type d -exec chmod 755 {} +

# --- Control ---

printf 'Source: orrery\n\nPackage: orrery\nArchitecture: any\n' > "$stage/debian/control"
depends=$(cd "$stage" && find root -type f \( -path '*/bin/*' -o -name '*.so*' \) \
  -exec dpkg-shlibdeps -O --ignore-missing-info {} + 2> /dev/null | sed -n 's/^shlibs:Depends=//p')
cat > "$root/DEBIAN/control" << END
Package: orrery
Version: $version-$revision
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -ks --apparent-size --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Recommends: gnuplot-nox
Section: science
Priority: optional
Description: simulator of AI clusters and the work that runs on them
 Orrery simulates training and inference on clusters of accelerators: YAML
 documents describe topologies, models and workloads, which are replayed on
 SimGrid with the costs of measured kernels and collectives. Every fact of a
 run is in a SQLite database.
 .
 This package measures no GPUs: orrery calibrate needs a build with CUDA.
END
(cd "$root" && find usr -type f | LC_ALL=C sort | tr '\n' '\0' | xargs -0 md5sum > DEBIAN/md5sums)
chmod 644 "$root"/DEBIAN/*
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$folder"
package=$folder/orrery_$version-${revision}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" > /dev/null
echo "$package: $(du -h "$package" | cut -f1)"
if command -v lintian > /dev/null; then
  lintian --allow-root "$package" && echo "lintian: clean"
else
  echo "lintian is not installed: not checked"
fi
