# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: catalog
short_description: "Internal: ask a database that is being upgraded how far it is"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Logs in with the root credential of a MatrixOneCluster and reads C(mo_version), C(mo_upgrade)
    and C(mo_upgrade_tenant) of C(mo_catalog).
  - Where there is a canary, the first compute node of the new version, it logs in there too, and
    runs C(spec.upgrade.canaryStatements).
  - It only asks before and during an upgrade to a newer minor or major release. It never fails
    because MatrixOne does not answer; that is a result.
requirements:
  - PyMySQL
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It changes nothing.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The MatrixOneCluster, with its status.
    type: dict
    required: true
  observed:
    description: What M(matrixorigin.matrixone.observe) returned for its references.
    type: dict
    required: true
  timeout:
    description: Seconds for all questions to the database, and for those to the canary.
    type: float
    default: 6
"""

EXAMPLES = r"""
- name: Ask the database how far its catalog is
  matrixorigin.matrixone.catalog:
    resource: "{{ matrixonecluster_resource }}"
    observed: "{{ observed.objects }}"
  register: catalog
"""

RETURN = r"""
observed:
  description: What was said, to be combined with what M(matrixorigin.matrixone.observe) returned.
  returned: success
  type: dict
  contains:
    catalog:
      description: What the database said.
      returned: when asked
      type: dict
      contains:
        problem:
          description: Why nothing is known; empty if the catalog was read.
          type: str
          returned: when asked
        serves:
          description: Whether the database answers logins, as far as that was tried.
          type: bool
          returned: when asked
        version:
          description: Newest version in C(mo_version).
          type: str
          returned: when asked
        offset:
          description: Its offset.
          type: int
          returned: when asked
        state:
          description: Its state; 2 if it is ready.
          type: int
          returned: when asked
        step:
          description: First step that is not done.
          type: str
          returned: when asked
        steps:
          description: Number of steps that are not done.
          type: int
          returned: when asked
        tenants:
          description: Number of tenants that the first of them still has to upgrade.
          type: int
          returned: when asked
        tasks:
          description: Number of groups of tenants that are not done.
          type: int
          returned: when asked
        failure:
          description: What failed last, as MatrixOne logged it, if the catalog stands still.
          type: str
          returned: when asked
    canaryAnswer:
      description: What the canary said.
      returned: when asked
      type: dict
      contains:
        problem:
          description: Why it does not answer; empty if it does.
          type: str
          returned: when asked
"""
