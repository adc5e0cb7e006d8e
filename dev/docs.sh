#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the documentation into build/docs; a warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=${XDG_CACHE_HOME:-$HOME/.cache}/matrixone-docs-tools
wanted=(sphinx==8.2.3 furo==2025.12.19 myst-parser==4.0.1)
mkdir -p "${tools%/*}"
exec 9>"$tools.lock"
flock 9
if [ "$(cat "$tools/.ready" 2>/dev/null || true)" != "${wanted[*]}" ]; then
  rm -rf "$tools"
  .venv/bin/python -m venv "$tools"
  .venv/bin/uv pip install --quiet --python "$tools/bin/python" "${wanted[@]}"
  echo "${wanted[*]}" >"$tools/.ready"
fi
exec 9>&-

rm -rf build/docs
"$tools/bin/sphinx-build" --fail-on-warning --keep-going --quiet --builder html docs build/docs
echo "docs: $(find build/docs -name '*.html' | wc -l) pages, 0 warnings"
