#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv (Python packages) and .collections (Ansible collections) of this checkout.
# Does nothing when they are up to date; a broken attempt is redone from the start.
set -euo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
venv=.venv
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "setup: Python 3.11 or newer is needed, $("$python" --version 2>&1) was found; set PYTHON=<interpreter>" >&2
  exit 1
fi

wanted=$(cat pyproject.toml src/kubectl_matrixone/pyproject.toml dev/constraints.txt dev/setup.sh | sha256sum | cut -d' ' -f1)
if [ "$(cat $venv/.ready 2>/dev/null || true)" != "$wanted" ]; then
  rm -f $venv/.ready
  [ -x $venv/bin/python ] || "$python" -m venv $venv || {
    echo "setup: python3 -m venv does not work here; on Debian: apt-get install python3-venv" >&2
    exit 1
  }
  [ -x $venv/bin/uv ] || $venv/bin/pip install --quiet --disable-pip-version-check uv
  VIRTUAL_ENV=$PWD/$venv $venv/bin/uv pip install --quiet --compile-bytecode --constraint dev/constraints.txt --editable '.[sql,backup,bench,dev]' --editable src/kubectl_matrixone
  echo "$wanted" >$venv/.ready
fi

# kubernetes.core comes out of PyPI's "ansible" package: Ansible Galaxy is not needed, and pip caches it.
kubernetes_core=.collections/ansible_collections/kubernetes/core
if [ ! -e $kubernetes_core/MANIFEST.json ]; then
  mkdir -p .cache .collections/ansible_collections/kubernetes
  unpacked=$(mktemp -d .cache/collections.XXXXXX)
  trap 'rm -rf "$unpacked"' EXIT
  $venv/bin/pip download --quiet --disable-pip-version-check --no-deps --dest "$unpacked" ansible==12.3.0
  $venv/bin/python - "$unpacked" <<'PYTHON'
import pathlib
import sys
import zipfile

folder = pathlib.Path(sys.argv[1])
wheel = zipfile.ZipFile(next(folder.glob("ansible-*.whl")))
prefix = "ansible_collections/kubernetes/core/"
wheel.extractall(folder, [name for name in wheel.namelist() if name.startswith(prefix)])
PYTHON
  rm -rf $kubernetes_core
  mv "$unpacked/ansible_collections/kubernetes/core" $kubernetes_core
fi

mkdir -p .collections/ansible_collections/matrixorigin
ln -sfn ../../.. .collections/ansible_collections/matrixorigin/matrixone
