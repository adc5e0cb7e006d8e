#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the runner of operator-sdk below .cache/go-runner, with the Python packages that it needs, and prints
# the program's path:  PEER_ANSIBLE_OPERATOR=$(bench/go_runner.sh) make bench
# It gets the ansible-core of this checkout, and no ansible-runner 2.4, whose times of events it cannot read.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
module=github.com/operator-framework/ansible-operator-plugins
version=${1:-v1.34.1}
folder=$PWD/.cache/go-runner/$version
program=$folder/ansible-operator

if [ ! -x "$program" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  downloaded=$(cd "$folder" && go mod download -json "$module@$version" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
  # Its own go.sum counts for all that it needs.
  cp -r --no-preserve=mode "$downloaded" "$folder/source"
  (cd "$folder/source" && go build -o "$folder/runner" ./cmd/ansible-operator) >&2
  rm -rf "$folder/source"
  core=$("$python" -c 'from ansible.release import __version__; print(__version__)')
  .venv/bin/uv venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" "$folder/python"
  VIRTUAL_ENV=$folder/python .venv/bin/uv pip install --quiet \
    "ansible-core==$core" 'ansible-runner~=2.3.3' 'ansible-runner-http~=1.0.0' 'urllib3<2' kubernetes
  cat >"$program" <<END
#!/bin/sh
export VIRTUAL_ENV='$folder/python' PATH='$folder/python/bin':"\$PATH"
exec '$folder/runner' "\$@"
END
  chmod +x "$program"
fi
echo "$program"
