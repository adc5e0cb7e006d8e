# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: health
short_description: "Internal: ask the processes of a set, or the SQL port of a cluster"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Kubernetes considers a Pod ready if its port accepts connections, even if its process is frozen
    or cut off from its peers. This module asks for an answer.
  - For a LogSet, DNSet and CNSet it asks HAKeeper for the last heartbeat of each store, for a
    LogSet also for the quorum of each log shard. It connects to each proxy of a ProxySet and waits
    for its greeting.
  - It also asks the object store of a LogSet, without credentials; any answer counts.
  - For a MatrixOneCluster it logs in with the root credential and runs C(select 1), but only while
    the cluster is not reported to be ready although all its components are. A refused login is an
    answer.
  - It only asks if all Pods are ready and the set is not paused. It never fails because MatrixOne
    does not answer; that is a result.
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
    description: The set or the cluster.
    type: dict
    required: true
  workload:
    description: The live workload of the set; nothing is asked without one.
    type: dict
  pods:
    description: The live Pods of the set.
    type: list
    elements: dict
    default: []
  children:
    description: The live components of a cluster by C(Kind/name).
    type: dict
  timeout:
    description: Seconds that all questions together may take.
    type: float
    default: 6
"""

EXAMPLES = r"""
- name: Ask the log stores for a sign of life
  matrixorigin.matrixone.health:
    resource: "{{ logset_resource }}"
    workload: "{{ observed.objects.workload }}"
    pods: "{{ observed.objects.pods }}"
  register: answered

- name: Ask a cluster whose components are ready again to answer SQL
  matrixorigin.matrixone.health:
    resource: "{{ matrixonecluster_resource }}"
    children: "{{ applied.objects }}"
  register: answered
"""

RETURN = r"""
asked:
  description: Whether anything was asked.
  returned: success
  type: bool
health:
  description: >-
    What was found, with the fields of C(Health); empty if nothing was asked.
  returned: success
  type: dict
"""
