# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check
short_description: "Internal: check whether there is anything to do for a resource"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Checks a resource of C(core.matrixorigin.io) and all that belongs to it, and decides as the role
    of its kind does, in one task. Roles begin with it, so that a pass that would change nothing
    costs next to nothing.
  - When anything is in doubt, or HAKeeper has to be asked, there is something to do.
  - A resource without C(metadata.uid) is played by a playbook, and there is always something to do.
    If the cluster has a resource of its kind and name, that one belongs to its operator, and the
    task fails. It fails as well if the resource has a field that its kind does not know, which the
    API server refuses to store.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It only reads.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
options:
  resource:
    description: The resource, with its status, as it is in the cluster.
    type: dict
    required: true
  state:
    description: >-
      Whether the resource is reconciled or deleted; with V(absent) there is always something to do.
    type: str
    choices: [present, absent]
    default: present
  start_script:
    description: The start script of the component; left out for a MatrixOneCluster.
    type: str
    default: ""
  observe_health:
    description: >-
      Whether to ask the processes of a set that is reported to serve for a sign of life, as
      M(matrixorigin.matrixone.health) does. If there is none, there is something to do.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Check whether anything is to be done
  matrixorigin.matrixone.check:
    resource: "{{ logset_resource }}"
    start_script: "{{ lookup('ansible.builtin.file', 'start.sh', rstrip=false) }}"
  register: check
- name: End here if the resource is up to date
  ansible.builtin.meta: end_role
  when: check.up_to_date
"""

RETURN = r"""
up_to_date:
  description: Whether a pass would change nothing and wait for nothing.
  returned: success
  type: bool
"""
