#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the runner of operator-sdk below .cache/go-runner, with the Python packages of its image, and prints
# the program's path:  PEER_ANSIBLE_OPERATOR=$(bench/go_runner.sh) make bench
#   bench/go_runner.sh v1.34.1    another release
# It gets the ansible-core of this checkout. Releases before 1.41 cannot read the times of ansible-runner 2.4,
# and have their event plugin from PyPI; later ones have it in their source.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
module=github.com/operator-framework/ansible-operator-plugins
version=${1:-v1.42.2}
folder=$PWD/.cache/go-runner/$version
program=$folder/ansible-operator

if [ ! -x "$program" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  downloaded=$(cd "$folder" && go mod download -json "$module@$version" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["Dir"])')
  # Its own go.sum counts for all that it needs.
  cp -r --no-preserve=mode "$downloaded" "$folder/source"
  (cd "$folder/source" && go build -o "$folder/runner" ./cmd/ansible-operator) >&2
  core=$("$python" -c 'from ansible.release import __version__; print(__version__)')
  plugin=$folder/source/images/ansible-operator/ansible_runner_http
  if [ -d "$plugin" ]; then
    packages=('ansible-runner~=2.4.0' 'urllib3~=2.6.3' 'kubernetes==33.1.0' "$plugin")
  else
    packages=('ansible-runner~=2.3.3' 'urllib3<2' kubernetes 'ansible-runner-http~=1.0.0')
  fi
  .venv/bin/uv venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" "$folder/python"
  VIRTUAL_ENV=$folder/python .venv/bin/uv pip install --quiet "ansible-core==$core" "${packages[@]}"
  rm -rf "$folder/source"
  cat >"$program" <<END
#!/bin/sh
export VIRTUAL_ENV='$folder/python' PATH='$folder/python/bin':"\$PATH"
exec '$folder/runner' "\$@"
END
  chmod +x "$program"
fi
echo "$program"
