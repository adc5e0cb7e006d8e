#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The wide tables in their full width, on fake nodes: 200 clusters at once, 500 examples of specs.
set -euo pipefail
cd "$(dirname "$0")/.."
MANY_CLUSTERS=200 WIDE_EXAMPLES=500 exec pytest -m api --timeout 3600 tests/roles/test_many.py tests/admission/test_wide.py
