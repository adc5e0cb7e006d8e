#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plays tests of the warm engine, of roles in a playbook and under an operator under every
# release of ansible-core that is supported and that the main environment does not have: each in an
# separate environment below .cache, created once. Where no Python of this machine can run a release,
# the output says so, and its last line counts it.
# (ansible-runner does not depend on the release but for the variables that Ansible reads from its file;
# one test compares both engines' events.)
#   dev/ansible_versions.sh            all of them
#   dev/ansible_versions.sh 2.20 -k x  one, with arguments of pytest
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

# Releases and the Pythons that can run their controller side, newest last.
declare -A pythons=([2.18]="3.11 3.12 3.13" [2.19]="3.11 3.12 3.13" [2.20]="3.12 3.13 3.14"
  [2.21]="3.12 3.13 3.14")

find_python() { # version, e.g. 3.12; prints the path of an interpreter that starts
  local candidate
  for candidate in "python$1" "$HOME/.pyenv/versions/$1".*/bin/python /opt/python"$1"/bin/python; do
    if "$candidate" -c "import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" &>/dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  # uv knows the places of interpreters that it has installed itself.
  .venv/bin/uv python find --no-python-downloads --system "$1" 2>/dev/null
}

interpreter_for() { # release
  local version
  for version in ${pythons[$1]}; do
    find_python "$version" && return
  done
  return 1
}

environment() { # release, interpreter; prints the folder
  local folder=.cache/ansible-$1 wanted
  wanted=$( (cat pyproject.toml dev/constraints.txt dev/ansible_versions.sh && echo "$2") | sha256sum | cut -d' ' -f1)
  if [ "$(cat "$folder/.ready" 2>/dev/null || true)" != "$wanted" ]; then
    rm -rf "$folder"
    mkdir -p .cache
    .venv/bin/uv venv --quiet --python "$2" "$folder"
    grep -vE '^(ansible-core|resolvelib)==' dev/constraints.txt >"$folder/constraints.txt"
    VIRTUAL_ENV=$PWD/$folder .venv/bin/uv pip install --quiet --constraint "$folder/constraints.txt" \
      --editable . "ansible-core~=$1.0" hypothesis pytest pytest-asyncio pytest-timeout pytest-xdist
    echo "$wanted" >"$folder/.ready"
  fi
  echo "$folder"
}

play() { # folder, arguments of pytest
  PATH="$PWD/$1/bin:$PATH" "$1/bin/pytest" -q -p no:cacheprovider "${@:2}"
}

main_release=$(.venv/bin/python -c 'from ansible.release import __version__ as v; print(".".join(v.split(".")[:2]))')
releases=(2.18 2.19 2.20 2.21)
if [ $# -gt 0 ] && [[ -v pythons[$1] ]]; then
  releases=("$1")
  shift
  main_release=
fi
tests=(tests/runner/engine tests/roles/test_playbook.py tests/roles/test_operator.py tests/memcached/test_operator.py)
# These take a minute each, and what they are about is the same code under every release.
elsewhere="ansible-runner or held or paused or hears_of or retained or changed_last"
passed=() missing=() failed=()
for release in "${releases[@]}"; do
  [ "$release" != "$main_release" ] || continue
  if ! python=$(interpreter_for "$release"); then
    missing+=("$release")
    echo "ansible-core $release: NOT TESTED, it needs one of Python ${pythons[$release]}, none is here"
    continue
  fi
  folder=$(environment "$release" "$python")
  version=$("$folder/bin/python" -c 'from ansible.release import __version__; print(__version__)')
  echo "ansible-core $version on $("$folder/bin/python" --version)"
  if play "$folder" -n 2 --dist loadfile "${tests[@]}" -k "test_extra_vars or not ($elsewhere)" "$@"; then
    passed+=("$version")
  else
    failed+=("$version")
  fi
done
echo "ansible-core: ${#passed[@]} passed (${passed[*]:-none}), ${#failed[@]} failed (${failed[*]:-none})," \
  "${#missing[@]} not tested for lack of a Python (${missing[*]:-none}); $main_release is tested by the other stages"
[ ${#failed[@]} = 0 ]
