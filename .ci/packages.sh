#!/bin/sh
# Installs the Debian packages named, as far as they are missing: as root or with sudo; otherwise prints the line to
# type. Lists of packages are fetched where this machine's lack one.
set -eu

missing=
for package in "$@"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=sudo
else
  echo "Orrery needs packages that are not installed. Type this, then make again:" >&2
  echo "  sudo apt-get install -y --no-install-recommends$missing" >&2
  exit 1
fi
echo "installing$missing" >&2
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086  # the list is words on purpose
install() { $as_root apt-get install -y -qq --no-install-recommends $missing; }
install >/dev/null 2>&1 || { $as_root apt-get update -qq && install >/dev/null; }
