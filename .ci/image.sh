#!/bin/sh
# image.sh BUILD NAME - makes the OCI image NAME:VERSION (and NAME:latest) of the Debian package in BUILD, which make deb
# builds: Debian 12, the package, gnuplot, and orrery as the entry point. With podman, docker or buildah, whichever works
# first. To use it: podman run --rm -v "$PWD:/work" orrery run scenario.yaml
set -eu
build=$1
name=$2

# Skips a client whose daemon does not answer.
tool='' mute=''
for one in podman docker; do
  command -v "$one" > /dev/null || continue
  if "$one" info > /dev/null 2>&1; then tool=$one && break; fi
  mute=$one
done
[ -n "$tool" ] || { command -v buildah > /dev/null && tool=buildah; }
if [ -z "$tool" ]; then
  echo "make image needs podman, docker or buildah: apt-get install podman${mute:+ ($mute is installed, but $mute info fails: its daemon may not run)}" >&2
  exit 1
fi

make --no-print-directory deb
package=$(find "$build" -maxdepth 1 -name 'orrery_*.deb' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2)
version=$(dpkg-deb -f "$package" Version | cut -d- -f1)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$package" "$context/orrery.deb"
cat > "$context/Containerfile" << 'END'
FROM docker.io/library/debian:12-slim
COPY orrery.deb /tmp/orrery.deb
RUN apt-get update \
 && apt-get install -y --no-install-recommends /tmp/orrery.deb gnuplot-nox \
 && rm -rf /var/lib/apt/lists/* /tmp/orrery.deb
WORKDIR /work
ENTRYPOINT ["orrery"]
CMD ["help"]
END
"$tool" build -t "$name:$version" -t "$name:latest" -f "$context/Containerfile" "$context"
echo "$name:$version, made by $tool; try: $tool run --rm -v \"\$PWD:/work\" $name run gpt3-175b-1024-a100"
