#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the runner's package.
set -eu
cd /build/runner
PYTHONPATH=/build/tools /opt/operator/bin/pip wheel --quiet --disable-pip-version-check --no-deps \
  --no-build-isolation --wheel-dir /build/dist .
