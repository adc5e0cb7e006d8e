# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts whose tools want other versions of each other than the linters do.

# provide_tools NAME PACKAGE... sets `tools` to a Python environment in the cache that has exactly these packages.
# It is recreated if the list differs, by one process at a time.
provide_tools() {
  local name=$1
  shift
  tools=${XDG_CACHE_HOME:-$HOME/.cache}/matrixone-$name-tools
  mkdir -p "${tools%/*}"
  exec 9>"$tools.lock"
  flock 9
  if [ "$(cat "$tools/.ready" 2>/dev/null || true)" != "$*" ]; then
    rm -rf "$tools"
    .venv/bin/python -m venv "$tools"
    .venv/bin/uv pip install --quiet --python "$tools/bin/python" "$@"
    echo "$*" >"$tools/.ready"
  fi
  exec 9>&-
}
