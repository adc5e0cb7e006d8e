#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the pages of the collection's plugins and roles into build/docsite, as docs.ansible.com has them for the
# collections of the Ansible package; a warning is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=dev/tools.sh
. dev/tools.sh
provide_tools docsite antsibull-docs==2.28.0 ansible-pygments==0.1.2 ansible-core==2.18.19 sphinx==8.2.3 furo==2025.12.19
export PATH=$tools/bin:$PATH ANSIBLE_COLLECTIONS_PATH=$PWD/.collections ANSIBLE_HOME=$PWD/build/docsite/ansible

site=build/docsite
rm -rf $site
mkdir -p $site/rst
chmod go-w $site/rst # antsibull-docs asks for it
cat >$site/conf.py <<'PYTHON'
project = "matrixorigin.matrixone"
copyright = "MatrixOne maintainers"
extensions = ["sphinx_antsibull_ext"]
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
html_theme = "furo"
html_title = "matrixorigin.matrixone"
html_use_index = False
html_copy_source = False
PYTHON
antsibull-docs collection --use-current --squash-hierarchy --fail-on-error --no-add-antsibull-docs-version \
  --dest-dir $site/rst matrixorigin.matrixone

# What the pages refer to in the documentation of Ansible and of other collections; the build needs no network.
ansible=https://docs.ansible.com/ansible/latest
{
  printf ':orphan:\n\nPages of Ansible\n================\n'
  while read -r label page; do
    printf "\n.. _%s:\n\n%s\n%s\n\n\`Documentation of Ansible <%s/%s>\`__\n" \
      "$label" "$label" "$(printf '%*s' ${#label} '' | tr ' ' -)" "$ansible" "$page"
  done <<'LABELS'
action_plugins plugins/action.html
ansible_collections.ansible.builtin.raw_module collections/ansible/builtin/raw_module.html
ansible_collections.kubernetes.core.kubectl_connection collections/kubernetes/core/kubectl_connection.html
ansible_configuration_settings reference_appendices/config.html
common_return_values reference_appendices/common_return_values.html
LABELS
} >$site/rst/elsewhere.rst

sphinx-build --fail-on-warning --keep-going --quiet --builder html -c $site $site/rst $site/html
echo "docsite: $(find $site/html -name '*.html' | wc -l) pages in $site/html, 0 warnings"
