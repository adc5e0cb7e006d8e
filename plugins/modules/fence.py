# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fence
short_description: "Internal: keep clients off a cluster that is fenced"
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Has the Services of a cluster's clients select no Pod, and ends the sessions on its compute
    nodes; or has the Services select the Pods of their sets again.
  - A database that gives no answer is a result and no failure.
requirements:
  - PyMySQL
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: Services are tried with a dry run; no session is ended.
    support: partial
    details: SQL has no dry run.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The MatrixOneCluster, with its status.
    type: dict
    required: true
  fence:
    description: What was decided, C(fence) of the plan.
    type: dict
    required: true
  timeout:
    description: Seconds for each compute node.
    type: float
    default: 6
"""

EXAMPLES = r"""
- name: Keep clients off
  matrixorigin.matrixone.fence:
    resource: "{{ cluster }}"
    fence: {wanted: true, services: [mo-proxy, mo-tp-cn], endsSessions: true}
  register: fence
"""

RETURN = r"""
fence:
  description: What was done.
  returned: success
  type: dict
  contains:
    ended:
      description: How many sessions were ended.
      type: int
      returned: always
    problem:
      description: What could not be done; empty if all could.
      type: str
      returned: always
"""
