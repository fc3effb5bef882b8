#!/bin/sh
# test_image.sh IMAGE.SH - make image: what it says without a tool, and how it calls one, with programs that stand for podman
# and make. TAP.
set -u
image=$(realpath "$1") || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
n=0
check() { n=$((n + 1)); if eval "$2"; then echo "ok $n - $1"; else echo "not ok $n - $1"; sed 's/^/# /' said | head -n 20; fi; }
cd "$work" || exit 1
mkdir bin build
for program in sh find sort tail cut mktemp rm cp cat; do ln -s "$(command -v $program)" bin/$program; done
stand_in() { cat > "bin/$1" && chmod +x "bin/$1"; }
run() { status=0; PATH=$work/bin sh "$image" build ours > said 2>&1 || status=$?; }

run
check "without a tool: what to install, exit 1" '[ $status -eq 1 ] && grep -q "needs podman, docker or buildah: apt-get install podman" said'
printf '#!/bin/sh\nexit 1\n' | stand_in docker
run
check "a client without its daemon" '[ $status -eq 1 ] && grep -q "docker is installed, but docker info fails" said'
stand_in podman <<'END'
#!/bin/sh
[ "$1" = info ] && exit 0
echo "$@" > called
while [ $# -gt 1 ]; do [ "$1" = -f ] && cat "$2" > containerfile; shift; done
cat "$1/orrery.deb" > package
END
printf '#!/bin/sh\necho deb > build/orrery_1.2.3-1_amd64.deb\n' | stand_in make
printf '#!/bin/sh\necho 1.2.3-1\n' | stand_in dpkg-deb
run
check "the package goes into an image of its version" '[ $status -eq 0 ] && grep -q "^build -t ours:1.2.3 -t ours:latest" called && [ "$(cat package)" = deb ]'
check "of Debian 12, with orrery as its command" 'grep -q "^FROM .*debian:12" containerfile && grep -q "ENTRYPOINT \[\"orrery\"\]" containerfile'
echo "1..$n"
