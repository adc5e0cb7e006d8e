#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Adds the runner to /opt/operator, lists what the image consists of, and removes the build's files.
# Usage: runner.sh VERSION
set -eu
cd /build
python=/opt/operator/bin/python
$python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-compile \
  --root-user-action=ignore dist/*.whl
$python -m compileall -qq --invalidation-mode unchecked-hash /opt/operator/lib/python3*/site-packages/ansible_operator
ln -s /opt/operator/bin/ansible-operator /usr/local/bin/ansible-operator
steps/programs.sh /opt/operator/bin /usr/local/bin
steps/package_managers.sh /usr/local/bin
$python steps/sbom.py /usr/share/sbom/ansible-operator.cdx.json "$1"
cd /
rm -r /build
