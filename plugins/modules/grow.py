# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: grow
short_description: "Internal: grow the volumes of a StatefulSet"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Asks for more storage in the claims of a StatefulSet, then recreates the StatefulSet with
    larger claim templates, which Kubernetes does not let anyone change. The Pods run on meanwhile.
  - Whatever was done before is not done again, so that it may be interrupted at any moment.
  - If the StorageClass does not allow expansion, nothing is changed, and the result contains that.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It asks the API server whether the claims might grow, and keeps nothing.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  workload:
    description: The live StatefulSet.
    type: dict
    required: true
  claims:
    description: Patches of the claims that are to grow.
    type: list
    elements: dict
    default: []
  templates:
    description: All claim templates that the StatefulSet is to have; empty to leave it alone.
    type: list
    elements: dict
    default: []
  timeout:
    description: Seconds that each of the waits for Kubernetes may take.
    type: float
    default: 60
"""

EXAMPLES = r"""
- name: Grow the volumes of the log stores
  matrixorigin.matrixone.grow:
    workload: "{{ observed.objects.workload }}"
    claims: "{{ growth.claims }}"
    templates: "{{ growth.templates }}"
  register: grown
"""

RETURN = r"""
volumes:
  description: What was done.
  returned: success
  type: dict
  contains:
    grown:
      description: Names of the claims that were asked to grow now.
      type: list
      elements: str
      returned: always
    remade:
      description: Whether the StatefulSet has the new claim templates.
      type: bool
      returned: always
    refused:
      description: Why a claim cannot grow, in the words of the API server; empty if it can.
      type: str
      returned: always
"""
