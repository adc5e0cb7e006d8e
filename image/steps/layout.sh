#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# User, folders and files where projects for operator-sdk's base image expect them. The group of
# the folders is root and may write, for clusters that choose the user themselves.
set -eu
echo 'ansible:x:1001:0:ansible:/opt/ansible:/bin/sh' >>/etc/passwd
mkdir -p /opt/ansible/.ansible/tmp /opt/ansible/.ansible/collections /etc/ansible /usr/share/ansible/openshift
printf 'localhost ansible_connection=local\n' >/etc/ansible/hosts
printf '[defaults]\nroles_path = /opt/ansible/roles\nlibrary = /usr/share/ansible/openshift\n' \
  >/etc/ansible/ansible.cfg
chown -R 1001:0 /opt/ansible
chmod -R ug+rwX /opt/ansible
