# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: claim
short_description: Get a compute node of a pool for a tenant, or give it back
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Applies a CNClaim, and waits until the operator has bound it to a Pod of a CNPool, which serves
    with the labels of the claim from then on. What the claim waits for is shown.
  - With O(state=absent), deletes the CNClaim. That ends at once; the pool drains the Pod.
  - Requires an operator, which looks after pools and claims.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The API server checks the claim, and nothing is waited for.
    support: full
  diff_mode:
    description: Shows what changes in the CNClaim.
    support: full
options:
  name:
    description: Name of the CNClaim.
    type: str
    required: true
  namespace:
    description: Namespace of the CNPool and the CNClaim.
    type: str
    default: default
  state:
    description: Whether the tenant has the compute node.
    type: str
    choices: [present, absent]
    default: present
  selector:
    description:
      - LabelSelector of Pods, with C(matchLabels) or C(matchExpressions). Without one, any Pod
        fits.
    type: dict
  pool:
    description: Name of the CNPool. By default, the first one whose C(podLabels) fit.
    type: str
  labels:
    description:
      - Labels of the compute node in MatrixOne, by which the proxy routes connections, such as
        C(account). A value may be a list.
    type: dict
    default: {}
  owner:
    description: Whom it is for. A Pod that the same owner used last is preferred.
    type: str
  priority:
    description: Claims of a higher priority get Pods first.
    type: int
  pod_labels:
    description: Further labels of the Pod while it is claimed.
    type: dict
  timeout:
    description: Seconds to wait at most for a compute node.
    type: int
    default: 120
"""

EXAMPLES = r"""
- name: Get a compute node for a tenant
  matrixorigin.matrixone.claim:
    name: tenant-a
    namespace: prod
    selector: {matchLabels: {pool: shared}}
    owner: tenant-a
    labels: {account: tenant_a}
  register: node

- name: Give it back
  matrixorigin.matrixone.claim:
    name: tenant-a
    namespace: prod
    state: absent
"""

RETURN = r"""
pool:
  description: Name of the CNPool.
  returned: with O(state=present), except in check mode
  type: str
  sample: shared
pod:
  description: Name of the Pod.
  returned: with O(state=present), except in check mode
  type: str
node:
  description: Name of the node that the Pod runs on.
  returned: with O(state=present), except in check mode
  type: str
sql_address:
  description: Where the compute node answers SQL. Tenants connect through the proxy.
  returned: with O(state=present), except in check mode
  type: str
  sample: 10.0.0.7:6001
service_id:
  description: UUID of the store in HAKeeper.
  returned: with O(state=present), except in check mode
  type: str
seconds:
  description: How long it took until the claim was bound.
  returned: with O(state=present), except in check mode
  type: float
"""
