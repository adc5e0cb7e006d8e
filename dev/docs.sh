#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into build/docs; a warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=dev/tools.sh
. dev/tools.sh
provide_tools docs sphinx==8.2.3 furo==2025.12.19 myst-parser==4.0.1

rm -rf build/docs
"$tools/bin/sphinx-build" --fail-on-warning --keep-going --quiet --builder html docs build/docs
echo "docs: $(find build/docs -name '*.html' | wc -l) pages, 0 warnings"
