# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: log_stores
short_description: "Internal: replace lost log stores and let surplus log stores leave"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Asks HAKeeper which log shards have which replicas. A store that has been down for
    C(spec.storeFailureTimeout), or runs without the data of its replicas, is replaced by a new,
    empty store of the same name and address, which HAKeeper then fills. This takes several runs,
    one step each. Each step is recorded in annotations of the LogSet, so that any later run
    continues from there.
  - No store is replaced while HAKeeper does not answer, while a log shard would be left without a
    quorum, before the log service has been up as a whole, or where a new store would not come up
    either. This is looked at again right before anything is deleted.
  - The PersistentVolume of a store that is replaced gets the reclaim policy C(Retain) first, and
    its own policy again a day after the log service was complete.
  - When a LogSet shrinks, one store leaves at a time, and the next one only when HAKeeper has
    placed the replicas of the one before on other stores.
  - It ends by its timeout, whatever MatrixOne does. When HAKeeper cannot be reached, that is a
    result and no failure.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
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
    description: The LogSet as it is in the cluster.
    type: dict
    required: true
  state:
    description:
      - With V(absent), the volumes of stores that were replaced get their own reclaim policy again,
        unless the LogSet keeps its data. Nothing else is done.
    type: str
    choices: [present, absent]
    default: present
  workload:
    description: The live StatefulSet of the set. Required for O(state=present).
    type: dict
  pods:
    description: The live Pods of the set.
    type: list
    elements: dict
    default: []
  claims:
    description:
      - The live claims of the set. Volumes of those that somebody deletes are kept.
    type: list
    elements: dict
    default: []
  cluster:
    description:
      - The MatrixOneCluster that a LogSet which is deleted is a part of, as it is in the cluster.
        As long as it is not deleted itself, no volume is released.
    type: dict
  timeout:
    description: Seconds that questions to HAKeeper may take.
    type: float
    default: 8
"""

EXAMPLES = r"""
- name: Replace log stores that are lost
  matrixorigin.matrixone.log_stores:
    resource: "{{ observed.objects.self }}"
    workload: "{{ observed.objects.workload }}"
    pods: "{{ observed.objects.pods }}"
    claims: "{{ observed.objects.claims }}"
  register: log_stores
"""

RETURN = r"""
stores:
  description: >-
    How the pass ended, with the fields of C(LogStoresResult); empty where there was none, in check
    mode for example.
  returned: success
  type: dict
"""
