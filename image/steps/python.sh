#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes /opt/operator, a virtual environment with all Python packages, and fetches the package
# that carries kubernetes.core. Byte code is compiled once, so that a read-only image starts as fast.
# Usage: python.sh [RELEASE]    of ansible-core, instead of the one in requirements.txt, e.g. 2.19
set -eu
cd "$(dirname "$0")"
if [ -s /run/secrets/ca.crt ]; then export PIP_CERT=/run/secrets/ca.crt; fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_QUIET=1
"$(command -v python3.12 || command -v python3)" -m venv /opt/operator
/opt/operator/bin/pip install --require-hashes --no-deps --no-compile --requirement requirements.txt
if [ -n "${1:-}" ]; then
  /opt/operator/bin/pip install --require-hashes --no-deps --no-compile --requirement "requirements-ansible-core-$1.txt"
  /opt/operator/bin/pip check
fi
/opt/operator/bin/pip install --require-hashes --no-deps --target /build/tools --requirement requirements-build.txt
/opt/operator/bin/pip download --require-hashes --no-deps --dest /build/wheels --requirement collections.txt
# Child images may use pip; setuptools came with the environment and is of no use.
/opt/operator/bin/pip uninstall --yes setuptools
/opt/operator/bin/python -m compileall -qq -j 0 --invalidation-mode unchecked-hash \
  -x 'ansible_test' /opt/operator/lib
