#!/bin/sh
# bare-path.sh DIR PACKAGE... - fills DIR with links to the commands that a fresh Debian has once PACKAGE... are installed:
# the commands of the essential packages, of the packages named and of everything these depend on. No recommended
# package, and nothing of /usr/local. With PATH=DIR a test that needs any other command fails as it would on that
# machine.
#
# The lists of files are dpkg's. Of alternatives in a dependency (a | b) the first that is installed counts, as apt chooses.
# python3 becomes a wrapper that sees the standard library alone, so that a module of a package that happens to be here is
# not found either; meson starts its own interpreter by an absolute path and keeps its modules.
set -eu
dir=$1
shift
mkdir -p "$dir"

# The names of all packages that the packages named, and the essential ones, need. "name:any" and versions are cut off.
closure() {
  dpkg-query -W -f '${db:Status-Status}\t${Package}\t${Essential}\t${Pre-Depends}, ${Depends}\t${Provides}\n' |
    awk -F '\t' -v named="$*" '
      function plain(name) { gsub(/[ (:].*/, "", name); return name }
      function need(name) { if (!(name in needed)) { needed[name]; queue[++last] = name } }
      $1 != "installed" { next }
      {
        depends[$2] = $4
        provider[$2] = $2
        if ($3 == "yes") need($2)
        n = split($5, given, /, */)
        for (i = 1; i <= n; i++) if (!(plain(given[i]) in provider)) provider[plain(given[i])] = $2
      }
      END {
        n = split(named, names, " ")
        for (i = 1; i <= n; i++) need(names[i])
        for (at = 1; at <= last; at++) {
          print queue[at]
          n = split(depends[queue[at]], clauses, /, */)
          for (i = 1; i <= n; i++) {
            k = split(clauses[i], choices, / *[|] */)
            for (j = 1; j <= k; j++) if (plain(choices[j]) in provider) { need(provider[plain(choices[j])]); break }
          }
        }
      }'
}

# shellcheck disable=SC2046  # names of packages hold no blanks
dpkg-query -L $(closure "$@") | grep -E '^(/usr)?/s?bin/[^/]+$' | sort -u | xargs ln -sf -t "$dir"
# awk, cc and the like belong to no package: they lead to one of several through /etc/alternatives.
find /usr/bin /usr/sbin -lname '/etc/alternatives/*' | while read -r link; do
  target=$(readlink -f "$link")
  if [ -e "$dir/${target##*/}" ]; then ln -sf "$target" "$dir/${link##*/}"; fi
done
[ -e "$dir/awk" ] || ln -s mawk "$dir/awk"
printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' > "$dir/wrapped" && chmod +x "$dir/wrapped"
mv -f "$dir/wrapped" "$dir/python3"
