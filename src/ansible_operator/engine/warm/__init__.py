# SPDX-License-Identifier: Apache-2.0
"""Runs in forks of a warm Ansible process, each of which serves one run after the other.

``engine``, ``workers``, ``supervisor``, ``artifacts`` run in the runner; ``template``, ``preload``,
``read_ahead``, ``play``, ``events``, ``strategy``, ``modules``, ``slate``, ``copies`` and
``ansible_versions`` in the template and its forks, and only those import Ansible. ``wire`` and
``job`` are what both sides share.
"""
