#!/bin/sh
# test_schemas.sh ORRERY ROOT - the JSON Schemas of `orrery describe --schema` against all shipped documents (schemas.py). TAP;
# skipped where an independent validator cannot be had: Debian's python3-jsonschema and python3-yaml.
set -eu
orrery=$(realpath "$1")
root=$(realpath "$2")
python3 -c 'import yaml, jsonschema; jsonschema.Draft202012Validator' 2> /dev/null || {
  echo "1..0 # SKIP python3-jsonschema (4 or newer) and python3-yaml are not installed"
  exit 0
}
ORRERY_SHIPPED=$root exec python3 "$(dirname "$0")/schemas.py" "$orrery" "$root"
