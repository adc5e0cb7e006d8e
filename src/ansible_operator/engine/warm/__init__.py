# SPDX-License-Identifier: Apache-2.0
"""Runs in forks of a warm Ansible process.

``engine``, ``checks`` and ``artifacts`` run in the runner; ``template``, ``preload``,
``read_ahead``, ``play``, ``events``, ``event_data``, ``reuse`` and ``check_plugins`` in the
template and its forks, and only those import Ansible. Both sides use ``job``; ``outbox`` sends what
``engine`` reads.
"""
