# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: repair
short_description: Replace lost log stores, let log stores leave, let go of Pods on lost nodes
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - For a LogSet it asks HAKeeper which log shards have which replicas. A store that has been down
    for C(spec.storeFailureTimeout), or runs without the data that it is counted on for, is replaced
    by a new, empty store of the same name and address, which HAKeeper then fills. This takes
    several runs, each one step. What has begun is recorded in annotations of the LogSet, so that
    any later run goes on from there.
  - No store is replaced while HAKeeper does not answer, while a log shard would be left without a
    quorum, before the log service has been up as a whole, or where a new store would not come up
    either.
  - When a LogSet shrinks, one store leaves at a time, and the next one only when HAKeeper has
    placed the replicas of the one before anew.
  - For a DNSet it removes Pods that only their node could end, when that node is lost, and asks
    HAKeeper which shards the transaction nodes serve.
  - It ends by its timeout, whatever MatrixOne does. When HAKeeper cannot be reached, that is a
    result and no failure.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It does nothing.
    support: partial
    details: What it does next depends on what MatrixOne answers.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The LogSet or DNSet as it is in the cluster.
    type: dict
    required: true
  workload:
    description: The live StatefulSet of the set, if there is one.
    type: dict
  pods:
    description: The live Pods of the set.
    type: list
    elements: dict
    default: []
  log_set:
    description: The LogSet that a DNSet depends on, if it is in the cluster.
    type: dict
  timeout:
    description: Seconds that questions to HAKeeper may take.
    type: float
    default: 8
"""

EXAMPLES = r"""
- name: Replace log stores that are lost
  matrixorigin.matrixone.repair:
    resource: "{{ observed.objects.self }}"
    workload: "{{ observed.objects.workload }}"
    pods: "{{ observed.objects.pods }}"
  register: round
"""

RETURN = r"""
stores:
  description: How the round ended; empty where none was made, in check mode for example.
  returned: success
  type: dict
  contains:
    asked:
      description: Whether HAKeeper was asked; a log service that is still starting is not.
      type: bool
      returned: for a LogSet or DNSet
    reached:
      description: Whether HAKeeper answered.
      type: bool
      returned: for a LogSet or DNSet
    problem:
      description: Why it did not; empty if it did.
      type: str
      returned: for a LogSet
    unserved:
      description: Pods whose transaction node has no shard.
      type: list
      elements: str
      returned: for a DNSet
    tnShards:
      description: >-
        Lines with ordinal, shard, log shard and replica of what transaction nodes serve; empty if
        that is unknown.
      type: str
      returned: for a DNSet
    shards:
      description: >-
        C(shard), C(replicas) and C(available) of each log shard; null when HAKeeper did not answer.
      type: list
      elements: dict
      returned: for a LogSet
    empty:
      description: Pods whose store has lost its data.
      type: list
      elements: str
      returned: for a LogSet
    repair:
      description: >-
        What is being done about a store that is down, as C(step), C(pod), C(message), C(due).
      type: dict
      returned: for a LogSet
    replicas:
      description: Replicas that the workload keeps for now; null for the spec's.
      type: int
      returned: for a LogSet
    scaling:
      description: What the departure of the next store waits for; empty for nothing.
      type: str
      returned: for a LogSet
    incarnations:
      description: How often the store of each ordinal was replaced.
      type: dict
      returned: for a LogSet
    events:
      description: What happened, to be told as Events.
      type: list
      elements: dict
      returned: always
"""
