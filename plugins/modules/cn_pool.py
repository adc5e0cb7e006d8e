# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cn_pool
short_description: "Internal: serve the claims of a CNPool, and create, drain and delete its Pods"
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Runs one pass over a CNPool. It binds waiting CNClaims to idle Pods and sets work state and
    labels of their stores in HAKeeper, drains the Pods of claims that are gone until they are idle
    again, creates Pods for claims to come and deletes those that are too many.
  - It repeats deciding and writing until nothing is left to write. What binds a Pod to a claim is
    one write to the Pod that fails if anybody has changed it, so that passes may run at the same
    time and may be interrupted.
  - It ends by its timeout, whatever MatrixOne does. When HAKeeper cannot be reached, that is a
    result and no failure, and no Pod counts as drained.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It does nothing.
    support: partial
    details: MatrixOne has no dry run.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The CNPool, as it is in the cluster.
    type: dict
    required: true
  generation:
    description: Name of the CNSet that its template leads to.
    type: str
    default: ''
  timeout:
    description: Seconds that a pass may take.
    type: float
    default: 60
  await_end:
    description:
      - Whether to run further passes until no Pod is left of a pool that is being deleted, which
        takes three minutes longer than its drains at most.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Serve claims
  matrixorigin.matrixone.cn_pool:
    resource: "{{ cnpool_resource }}"
    generation: "{{ cnpool_plan.workload }}"
  register: cnpool_served
"""

RETURN = r"""
pool:
  description: How the pass ended; empty in check mode and for a pool that is paused.
  returned: success
  type: dict
  contains:
    pods:
      description: Number of Pods, C(total) and by phase.
      type: dict
      returned: always
    claims:
      description: Number of claims, and why some wait.
      type: dict
      returned: always
    generation:
      description: Name of the CNSet that the template leads to.
      type: str
      returned: always
    generations:
      description: The CNSets of the pool, each with the number of its Pods.
      type: list
      elements: dict
      returned: always
    limited:
      description: Why there are fewer Pods than there should be; empty if there are not.
      type: str
      returned: always
    problem:
      description: Why HAKeeper did not answer; empty if it did.
      type: str
      returned: always
    missing:
      description: The CNSet whose Pods could not be created, because it is not rendered yet.
      type: str
      returned: always
    errors:
      description: What the API server refused.
      type: list
      elements: str
      returned: always
    requeue:
      description: Seconds after which another pass is needed; null if none is.
      type: float
      returned: always
    rounds:
      description: How often it decided and wrote.
      type: int
      returned: always
    done:
      description: Number of writes by what they do.
      type: dict
      returned: always
    dropped:
      description: Number of writes whose object had changed meanwhile.
      type: int
      returned: always
    waiting:
      description: Number of claims without a Pod, by reason.
      type: dict
      returned: always
    oldestWaiting:
      description:
        - Creation of the oldest claim that more Pods would serve, in Unix time; null without one.
      type: float
      returned: always
    idleDesired:
      description: How many idle Pods there should be at this time.
      type: int
      returned: always
    missed:
      description: Number of claims that found no idle Pod in this pass and wait for one.
      type: int
      returned: always
    waits:
      description: Seconds from the creation of each claim that was bound in this pass until then.
      type: list
      elements: float
      returned: always
    events:
      description: Events to emit for what happened to Pods, for M(matrixorigin.matrixone.status).
      type: list
      elements: dict
      returned: always
    finished:
      description: Whether nothing is left of a pool that is being deleted.
      type: bool
      returned: always
"""
