# SPDX-License-Identifier: Apache-2.0
"""Runs as forks of a warm Ansible process.

``engine``, ``supervisor``, ``artifacts`` run in the runner; ``template``, ``preload``, ``play``,
``events``, ``strategy``, ``modules`` and ``ansible_versions`` in the template and its forks, and
only those import Ansible. ``wire`` and ``job`` are what both sides share.
"""
