#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every test that can run on this machine, long parts side by side. Each stage writes to a log of
# its own under build/test/; the whole log of a failed stage is printed, the runners' closing lines
# of all. `dev/test.sh unit api` runs only the named stages. Tests of at most three files
# of a stage that fail while others run beside them are run once more, alone; that is said at the end.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. dev/failures.sh
export PATH="$PWD/.venv/bin:$PATH" ANSIBLE_COLLECTIONS_PATH="$PWD/.collections"

# Tests run the start scripts under each shell and awk that images bring, and talk SQL with the client that
# the documentation uses; installing them is left to the user where this is not root on a Debian machine.
if ! type gawk mawk busybox mysql &>/dev/null && [ "$(id -u)" = 0 ] && type apt-get &>/dev/null; then
  { apt-get -qq update && apt-get -qq install -y --no-install-recommends gawk mawk busybox-static mariadb-client-core; } >/dev/null
fi

logs=build/test
rm -rf $logs
mkdir -p $logs
started=$SECONDS

stage_binaries() {
  python -m testbed build --nodes fake && python -m testbed build --nodes real --image matrixone &&
    python -m testbed build helm && python -m testbed build operator-verify
}
stage_lint() { dev/lint.sh; }
# What ran beside others and may be looked at again: its tests by marker.
declare -A markers=([unit]='not api and not node' [api]='api and not node' [node]='node and not scenario')
suite() { pytest --durations 15 --durations-min 20 -o cache_dir="$PWD/$logs/cache-$1" -m "${markers[$1]}" "${@:2}"; }
stage_unit() { suite unit -n 2 tests; }
stage_sanity() { dev/sanity.sh; }
stage_release() { dev/release.sh && dev/docs.sh; }
stage_api() { suite api -n 2 --dist loadgroup tests; }
stage_ansible() { dev/ansible_versions.sh; }
# Scenario node does to the real database what tests/e2e does; `make molecule` plays it. kind needs Docker.
stage_molecule() { dev/molecule.sh default && molecule syntax --scenario-name node && molecule syntax --scenario-name kind; }
stage_node() { suite node tests; }
# The whole end-to-end suite against the operator as it is deployed, its upgrades, and the wide tables: by
# `make scenarios`. What fails keeps none of the others from being seen.
stage_scenarios() {
  local failed=0
  make e2e || failed=1
  pytest -m 'node and scenario' --ignore tests/e2e tests || failed=1
  stage_wide || failed=1
  return "$failed"
}
# The wide tables of tests/admission and tests/roles in their full width, on fake nodes.
stage_wide() { MANY_CLUSTERS=200 WIDE_EXAMPLES=500 pytest tests/roles/test_many.py tests/admission/test_wide.py; }

run() { # stage
  local begin=$SECONDS
  "stage_$1" >"$logs/$1.log" 2>&1
  echo "$? $((SECONDS - begin))" >"$logs/$1.result"
  echo "test $1: $(cut -d' ' -f1 "$logs/$1.result" | sed 's/^0$/ok/; s/^[1-9].*/FAILED/') after $((SECONDS - begin)) s"
}

# A deadline broken by what else the machine did is told from a fault by a second look.
look_again() { # stage
  local code seconds found files
  read -r code seconds <"$logs/$1.result"
  [ "$code" = 1 ] || return 0
  found=$(failed_files "$logs/$1.log") || return 0
  mapfile -t files <<<"$found"
  if suite "$1" "${files[@]}" >"$logs/$1-again.log" 2>&1; then
    echo "0 $seconds" >"$logs/$1.result"
    echo "test $1: passed when run again, alone: ${files[*]}"
  else
    tail -n 200 "$logs/$1-again.log"
  fi
}

wanted=("$@")
[ $# -gt 0 ] || wanted=(binaries lint unit sanity release api ansible molecule node)
for name in "${wanted[@]}"; do
  declare -F "stage_$name" >/dev/null || { echo "no stage $name; there are: $(declare -F | sed -n 's/.* stage_//p' | xargs)" >&2; exit 2; }
done
has() { [[ " ${wanted[*]} " == *" $1 "* ]]; }

# The binaries are built while the linters and unit tests run; what starts a test bed comes after.
{ for name in lint unit sanity release; do has $name && run $name; done; true; } &
no_cluster=$!
if has binaries; then run binaries; fi
{ for name in api ansible molecule; do has $name && run $name; done; true; } &
fake_nodes=$!
wait "$no_cluster" "$fake_nodes"
# Real databases come last and alone: they are the ones whose deadlines a busy machine would break.
for name in node wide scenarios; do has $name && run $name; done
for name in unit api node; do has $name && look_again $name; done

failed=0
summary() {
  grep -h '^scenario ' "$logs/$1.log"
  grep -hE '^(=+ .*(passed|failed|error).* =+|(lint|sanity|release|docs|molecule): .*|ansible-core.*)$' "$logs/$1.log" | tail -5
}
for name in "${wanted[@]}"; do
  read -r code seconds <"$logs/$name.result"
  if [ "$code" != 0 ]; then
    failed=$((failed + 1))
    echo "--- $name failed with exit code $code; its log:"
    tail -n 400 "$logs/$name.log"
  fi
done
echo "--- what ran"
for name in "${wanted[@]}"; do
  read -r code seconds <"$logs/$name.result"
  printf '%-10s exit code %s, %s s\n' "$name" "$code" "$seconds"
  summary "$name"
  if [ -f "$logs/$name-again.log" ]; then
    echo "  these failed beside others and were run again, alone; look for the cause:"
    grep -E '^(FAILED|ERROR) ' "$logs/$name.log" | sed 's/^/  /'
    tail -n 1 "$logs/$name-again.log"
  fi
done
has scenarios || echo "not run here: the long scenarios with the real database (make scenarios)"
echo "all stages: $((SECONDS - started)) s"
echo "stages: $((${#wanted[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]
