# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: resource_info
short_description: Read resources of a kind, and whether they are ready
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Returns the resources of one of the kinds of MatrixOne, for example all databases of a
    namespace, as they are in the API server. What the operator reports of each is also in fields
    that are the same for all kinds, so that this is one module and not one per kind.
  - It reads resources and nothing else. It returns no content of Secrets, which resources only
    name.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It changes nothing.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  kind:
    description:
      - Kind of the resources. V(MatrixoneCluster), with a small C(o), is the kind of the first
        operator.
    type: str
    required: true
    choices:
      - Backup
      - BackupJob
      - BackupSchedule
      - BucketClaim
      - CNClaim
      - CNClaimSet
      - CNPool
      - CNSet
      - DNSet
      - Database
      - DatabaseUser
      - LogSet
      - MatrixOneCluster
      - MatrixoneCluster
      - ProxySet
      - RestoreJob
      - WebUI
  name:
    description: Name of the resource. By default, all are returned.
    type: str
  namespace:
    description: Namespace of the resources. A V(Backup) is in no namespace.
    type: str
    default: default
  all_namespaces:
    description: Whether resources of all namespaces are returned, instead of those of O(namespace).
    type: bool
    default: false
  label_selectors:
    description: >-
      Conditions on labels, such as V(team=shop) or V(env in (test, dev)), all of which must hold.
    type: list
    elements: str
    default: []
notes:
  - The account needs the right to C(list) the kind, also for one resource by its name.
"""

EXAMPLES = r"""
- name: Read the databases of a namespace
  matrixorigin.matrixone.resource_info:
    kind: Database
    namespace: prod
  register: databases

- name: Show those that are not ready, and why
  ansible.builtin.debug:
    msg: "{{ item.name }}: {{ item.reason }} {{ item.message }}"
  loop: "{{ databases.resources | rejectattr('ready', 'equalto', true) }}"
  loop_control:
    label: "{{ item.name }}"

- name: Wait until a cluster serves with its present spec
  matrixorigin.matrixone.resource_info:
    kind: MatrixOneCluster
    name: mo
    namespace: prod
  register: cluster
  until: >-
    cluster.resources | selectattr('ready', 'equalto', true)
    | selectattr('generation_observed') | length == 1
  retries: 60
  delay: 5
"""

RETURN = r"""
resources:
  description: >-
    The resources, sorted by namespace and name, with all their own fields, such as C(metadata),
    C(spec) and C(status), and the following ones. Empty if there is none.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: The kind, as in O(kind).
      type: str
      returned: always
    name:
      description: Name of the resource.
      type: str
      returned: always
    namespace:
      description: Namespace of the resource; empty for a V(Backup).
      type: str
      returned: always
    ready:
      description: >-
        Whether the condition C(Ready) is true. It is null where that is not known, which is
        neither true nor false.
      type: bool
      returned: always
    generation_observed:
      description: >-
        Whether RV(resources[].ready) is about the present spec. It is false while the operator has
        not yet reconciled a change, and while a resource runs with an earlier spec because the
        present one was refused.
      type: bool
      returned: always
    state:
      description: >-
        The state in one word, in most kinds what C(kubectl get) shows as C(Phase). Empty if no
        operator has reconciled the resource yet.
      type: str
      returned: always
      sample: Ready
    reason:
      description: Reason of the condition C(Ready).
      type: str
      returned: always
      sample: AllSetsReady
    message:
      description: What the operator is waiting for, or what is wrong; empty if there is nothing.
      type: str
      returned: always
    conditions:
      description: >-
        The conditions by type, each with C(status) (V(True), V(False) or V(Unknown)), C(reason),
        C(message), C(observedGeneration) and C(lastTransitionTime).
      type: dict
      returned: always
      sample:
        Ready:
          status: "True"
          reason: AllSetsReady
          message: ""
          observedGeneration: 1
          lastTransitionTime: "2026-11-01T12:00:00Z"
"""
