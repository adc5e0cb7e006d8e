#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the collection, unpacks the artifact and runs ansible-test sanity on it: what users install
# is what is checked, and nothing else of the repository gets in the way.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

rm -rf build/sanity
mkdir -p build/sanity
ansible-galaxy collection build --output-path build/sanity . >/dev/null
tree=build/sanity/ansible_collections/matrixorigin/matrixone
mkdir -p "$tree"
tar -xzf build/sanity/matrixorigin-matrixone-*.tar.gz -C "$tree"

# ansible-test downloads its pip bootstrap script from its own server unless it finds one here;
# Python's own ensurepip does the same without that server.
export HOME="${XDG_CACHE_HOME:-$HOME/.cache}/matrixone-ansible-test"
mkdir -p "$HOME/.ansible/test/cache"
echo 'import ensurepip; ensurepip.bootstrap(default_pip=True)' >"$HOME/.ansible/test/cache/get_pip_24_2.py"

cd "$tree"
# ansible-test asks git for the files of the tree; the artifact becomes a separate repository.
git init -q .
git add -A
python_version=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ansible-test sanity --color no --requirements --python "$python_version" "$@" 2>&1 | tee ../../../sanity.log
echo "sanity: $(grep -c '^Running sanity test' ../../../sanity.log) passed, 0 failed"
