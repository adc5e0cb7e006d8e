# SPDX-License-Identifier: Apache-2.0
"""A prefork library: a warm process that forks, and a pool of its forks.

``supervisor``, ``template_process`` and ``pool`` run in the runner; ``template`` in the process
that forks. Both sides use ``frames`` and ``processes``. Nothing here imports Ansible.
"""
