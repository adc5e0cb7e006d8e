# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: remove
short_description: "Internal: delete Kubernetes objects and wait until they are gone"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Deletes objects by name, and by kind, label and owner, in one HTTP session, and waits until they
    and what depends on them are gone.
  - Before that it can change objects, and release those that outlive the deletion.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The API server tries each change and keeps none.
    support: full
  diff_mode:
    description: Shows what is deleted, without the server's bookkeeping. Secrets are masked.
    support: full
options:
  patches:
    description:
      - Objects of which some fields are set before anything is deleted. Those that do not exist are
        skipped.
    type: list
    elements: dict
    default: []
  release:
    description:
      - Objects that outlive the deletion. Before it, StatefulSets among them are configured to
        retain their claims, and all others lose their owner references.
    type: dict
    suboptions: &selection
      kinds:
        description: Kinds of the objects.
        type: list
        elements: dict
        default: []
        suboptions:
          api_version:
            description: For example V(apps/v1).
            type: str
            required: true
          kind:
            description: For example V(Deployment).
            type: str
            required: true
          named:
            description:
              - Regular expression that the names of the objects match; any if empty. It identifies
                them, so that their owners do not count.
            type: str
            default: ""
      namespace:
        description: Namespace of the objects; all if left out.
        type: str
      labels:
        description: Labels that the objects have.
        type: dict
        default: {}
      excluding:
        description: Label values that the objects do not have, as a list per label.
        type: dict
        default: {}
      owner_uid:
        description: C(uid) of the objects' owner; any if empty.
        type: str
        default: ""
      unowned:
        description: Whether objects that have an owner are left out.
        type: bool
        default: false
  free:
    description: Objects that lose their owner references, and are left alone otherwise.
    type: dict
    suboptions: *selection
  objects:
    description: Objects to delete, by their identity, in reverse order.
    type: list
    elements: dict
    default: []
  selected:
    description:
      - Further objects to delete, by kind, label and owner. Those with the annotation
        C(matrixorigin.io/keep) of value V(true) stay.
    type: dict
    suboptions: *selection
  propagation:
    description: What happens to the dependents of a deleted object.
    type: str
    choices: [Background, Foreground, Orphan]
    default: Background
  wait:
    description: Whether to wait until what was deleted is gone.
    type: bool
    default: false
  wait_deleted:
    description: Whether O(wait) waits for the deleted objects, too, or for O(wait_gone) alone.
    type: bool
    default: true
  wait_gone:
    description: Further objects that must be gone, for example Pods.
    type: dict
    suboptions: *selection
  wait_timeout:
    description: Seconds to wait at most.
    type: int
    default: 300
  fail_on_timeout:
    description: >-
      Whether what still exists after O(wait_timeout) is a failure; otherwise it is a warning.
    type: bool
    default: true
  status_of:
    description:
      - Custom resource that is being deleted. Its status lists what O(wait) waits for, from the
        fifth second on.
    type: dict
  field_manager:
    description: Name under which fields of O(patches) are owned.
    type: str
    default: matrixone-operator
"""

EXAMPLES = r"""
- name: Delete a ConfigMap and wait until it is gone
  matrixorigin.matrixone.remove:
    objects:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: prod}
    wait: true

- name: Delete the Deployments of an app and wait until its Pods are gone, too
  matrixorigin.matrixone.remove:
    selected:
      kinds: [{api_version: apps/v1, kind: Deployment}]
      namespace: prod
      labels: {app: shop}
    wait: true
    wait_gone:
      kinds: [{api_version: v1, kind: Pod}]
      namespace: prod
      labels: {app: shop}
"""

RETURN = r"""
changes:
  description: What happened, as C(Kind namespace/name) and one of changed, deleted.
  returned: success
  type: list
  elements: str
  sample: [StatefulSet prod/mo-log deleted]
done:
  description: The same as data, with C(kind), C(name) and C(change).
  returned: success
  type: list
  elements: dict
objects:
  description:
    - The objects as the API server has them now, by C(Kind/name), without managed fields and
      without the values in Secrets and ConfigMaps.
  returned: success
  type: dict
before:
  description: The objects that were changed, as they were before, in the same form.
  returned: success
  type: dict
left:
  description: What still exists after O(wait_timeout).
  returned: when O(wait=true)
  type: list
  elements: str
fields:
  description: Fields to blame.
  returned: when the API server refuses
  type: list
  elements: str
reason:
  description: Kubernetes' reason.
  returned: when the API server refuses
  type: str
  sample: Invalid
status:
  description: HTTP status code.
  returned: when the API server refuses
  type: int
"""
