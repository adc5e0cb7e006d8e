# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: adopt
short_description: Take a cluster over from the Go operator
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Plans what it takes until this operator runs a cluster that the Go operator
    (C(matrixone-operator)) has made with workloads of OpenKruise, and carries the plan out, one
    part of the cluster per task. The role C(adoption) and the playbook
    C(matrixorigin.matrixone.adopt) do that in order.
  - A plan is made of what is there at this moment, so an adoption that was interrupted goes on
    where it was, and one that is complete has no steps.
  - No step deletes a claim, a volume or anything in a bucket.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It plans, and changes nothing.
    support: full
  diff_mode:
    description: The plan is in the result.
    support: none
options:
  cluster:
    description: Name of the MatrixOneCluster.
    type: str
    required: true
  namespace:
    description: Namespace of the MatrixOneCluster.
    type: str
    default: default
  state:
    description: >-
      Whether this operator is to run the cluster. V(absent) is the way back to the Go operator.
    type: str
    choices: [present, absent]
    default: present
  part:
    description: >-
      One of RV(ignore:plan.parts), whose steps are carried out. Without it, the task only plans.
    type: str
  timeout:
    description: Maximum time to wait until a part serves, in seconds.
    type: int
    default: 900
"""

EXAMPLES = r"""
- name: Plan
  matrixorigin.matrixone.adopt:
    cluster: mo
    namespace: prod
  register: adoption

- name: Take over the log service
  matrixorigin.matrixone.adopt:
    cluster: mo
    namespace: prod
    part: LogSet mo
  when: adoption.plan.refusals == []
"""

RETURN = r"""
plan:
  description: What is left to be done.
  returned: success
  type: dict
  contains:
    refusals:
      description: Why nothing is done; empty if nothing stands in the way.
      type: list
      elements: str
      returned: always
    steps:
      description: >-
        The steps in order, with C(action), the C(set) that they belong to, and what each C(does).
      type: list
      elements: dict
      returned: always
    notes:
      description: What one should know.
      type: list
      elements: str
      returned: always
    parts:
      description: The parts that have steps, in order.
      type: list
      elements: str
      returned: always
done:
  description: What was done, or would be in check mode.
  returned: success
  type: list
  elements: str
"""
