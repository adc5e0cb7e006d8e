#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every linter, side by side; prints one line for each and the whole output of those that fail.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
export PATH="$PWD/.venv/bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$PWD/.collections"

reports=$(mktemp -d)
trap 'rm -rf "$reports"' EXIT
names=()

check() { # name, command...
  local name=$1
  shift
  names+=("$name")
  { "$@" >"$reports/$name.log" 2>&1; echo $? >"$reports/$name.rc"; } &
}

lint_types() {
  mypy -p ansible_operator -p kubectl_matrixone &&
    mypy -p ansible_collections.matrixorigin.matrixone.plugins &&
    mypy -p testbed -p demo -p bench -p compat -p faults -p crds.generate -p deploy.generate -p image -p dev.gate &&
    mypy extensions &&
    mypy -p tests.e2e # most of them run at night only: what can be seen without running is seen here
}

lint_shell() {
  git ls-files -co --exclude-standard '*.sh' .ci/run | xargs shellcheck
}

check ruff ruff check .
check format ruff format --check .
check mypy lint_types
check imports env PYTHONPATH=.collections lint-imports --no-cache
check yamllint yamllint --strict .
check shellcheck lint_shell
check crds python -m crds.generate --check
check rbac python -m deploy.generate --check
check ansible-lint env NO_COLOR=1 ANSIBLE_HOME="$PWD/.cache/ansible-lint" ansible-lint --strict --offline
wait

failed=0
for name in "${names[@]}"; do
  if [ "$(cat "$reports/$name.rc")" = 0 ]; then
    echo "lint $name: ok"
  else
    failed=$((failed + 1))
    echo "lint $name: FAILED"
    sed 's/^/    /' "$reports/$name.log"
  fi
done
echo "lint: $((${#names[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
