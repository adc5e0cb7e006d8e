#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the collection as it is released and installs it, with kubernetes.core, where the runner
# looks for collections.
set -eu
collections=/opt/ansible/.ansible/collections
export PATH="/opt/operator/bin:$PATH" PYTHONPATH=/build/tools HOME=/build/home
cd /build
python steps/kubernetes_core.py wheels $collections/ansible_collections
ansible-galaxy collection build --output-path /build/dist collection >/dev/null
ansible-galaxy collection install --offline --no-deps --collections-path $collections dist/*.tar.gz >/dev/null
python -m compileall -qq -j 0 --invalidation-mode unchecked-hash $collections
chmod -R ug+rwX /opt/ansible
