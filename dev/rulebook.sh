#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the path of ansible-rulebook, in an environment of its own below .cache that is created once. It needs Java 17.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

folder=.cache/rulebook
wanted=$( (cat dev/constraints.txt dev/rulebook.sh) | sha256sum | cut -d' ' -f1)
if [ "$(cat "$folder/.ready" 2>/dev/null || true)" != "$wanted" ]; then
  rm -rf "$folder"
  mkdir -p .cache
  .venv/bin/uv venv --quiet --python .venv/bin/python "$folder"
  VIRTUAL_ENV=$PWD/$folder .venv/bin/uv pip install --quiet --constraint dev/constraints.txt \
    "ansible-rulebook==1.3.2" ansible-core ansible-runner kubernetes
  echo "$wanted" >"$folder/.ready"
fi
echo "$PWD/$folder/bin/ansible-rulebook"
