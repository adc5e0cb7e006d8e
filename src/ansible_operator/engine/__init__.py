# SPDX-License-Identifier: Apache-2.0
"""Playing roles and playbooks; the only room that imports Ansible.

It may import ``kube``, ``watches``, ``metrics`` and ``errors``.
"""
