#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a release of the collection must pass, on the artifact that users install: Galaxy's importer, the
# documentation of its plugins, the changelog, the metadata for execution environments, and its playbooks by
# their full names out of an empty environment. The tools have an environment of their own, because they want
# other versions of each other than the linters do.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=build/release
rm -rf $work
mkdir -p $work/artifact $work/logs

# shellcheck source=dev/tools.sh
. dev/tools.sh
provide_tools release galaxy-importer==0.4.44 antsibull-docs==2.28.0 antsibull-changelog==0.36.0 \
  ansible-builder==3.2.0 'kubernetes>=31' 'PyMySQL>=1.1' distlib
export PATH=$tools/bin:$PATH

passed=0
check() { # name, command...
  local name=$1
  shift
  if ! "$@" >"$work/logs/$name.log" 2>&1; then
    cat "$work/logs/$name.log"
    echo "release: $name FAILED"
    exit 1
  fi
  passed=$((passed + 1))
  echo "release: $name ok"
}

ansible-galaxy collection build --output-path $work/artifact . >/dev/null
artifact=$(echo $work/artifact/*.tar.gz)
# Only the artifact and what it depends on; nothing of this checkout.
export ANSIBLE_COLLECTIONS_PATH=$root/$work/collections ANSIBLE_HOME=$root/$work/ansible
check install ansible-galaxy collection install --offline --no-deps -p $work/collections "$artifact"
cp -r .collections/ansible_collections/kubernetes $work/collections/ansible_collections/
installed=$root/$work/collections/ansible_collections/matrixorigin/matrixone

cat >$work/importer.cfg <<'CONFIG'
[galaxy-importer]
RUN_ANSIBLE_LINT=True
RUN_ANSIBLE_TEST=False
CHECK_REQUIRED_TAGS=True
REQUIRE_V1_OR_GREATER=False
CONFIG
check importer env GALAXY_IMPORTER_CONFIG=$work/importer.cfg python -m galaxy_importer.main "$artifact"
check docs antsibull-docs lint-collection-docs --plugin-docs --check-extra-docs-refs \
  --validate-collection-refs=all "$installed"
check changelog antsibull-changelog lint
check execution-environment ansible-builder introspect "$root/$work/collections"

render() (
  cd $work && ansible-playbook matrixorigin.matrixone.render -e @"$installed/examples/tiny-cluster.yaml" \
    -e output="$root/$work/rendered.yaml" && grep -q 'kind: StatefulSet' rendered.yaml
)
check render render
readme() (
  mkdir -p $work/elsewhere && cd $work/elsewhere
  awk '/^```yaml$/ {on = 1; next} /^```$/ {on = 0} on' "$installed/README.md" >cluster.yaml
  ansible-playbook matrixorigin.matrixone.render -e @cluster.yaml -e output=manifests.yaml
  grep -q 'kind: StatefulSet' manifests.yaml
)
check readme readme
for playbook in "$installed"/playbooks/*.yml; do
  name=matrixorigin.matrixone.$(basename "$playbook" .yml)
  check "syntax-$(basename "$playbook" .yml)" ansible-playbook --syntax-check "$name"
done
check inventory ansible-doc -t inventory matrixorigin.matrixone.members
echo "release: $passed passed, 0 failed"
