# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apply
short_description: Bring a list of Kubernetes objects to what it says
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Applies objects with server-side apply, one after the other, in one HTTP session.
  - Owns only the fields that it sets. Fields that a manifest leaves out belong to others, fields
    that it no longer has are removed.
  - What changed, the difference and the check mode come from the API server's own dry run, so that
    validation and defaults are real.
extends_documentation_fragment:
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The API server tries each change and keeps none.
    support: full
  diff_mode:
    description: >-
      Shows what an author decides, without the server's bookkeeping. Values of Secrets are masked.
    support: full
options:
  objects:
    description:
      - Objects in the order of their application.
    type: list
    elements: dict
    default: []
  create_only:
    description:
      - Objects among O(objects), as C(Kind/name), that are created if there is none of that name
        and never changed.
    type: list
    elements: str
    default: []
  recreate:
    description:
      - Objects among O(objects), as C(Kind/name), that are deleted without their dependents and
        created again, because a field of theirs has changed that cannot be changed in place.
    type: list
    elements: str
    default: []
  recreate_timeout:
    description: Seconds to wait at most until an object of O(recreate) is gone.
    type: int
    default: 300
  adopt_from:
    description:
      - Other field managers whose fields of O(objects) are taken over, so that those that a
        manifest does not have are removed.
    type: list
    elements: str
    default: []
  delete:
    description:
      - Objects to delete after O(objects) were applied, by their identity; with C(metadata.uid)
        only that very object. M(matrixorigin.matrixone.remove) waits until objects are gone.
    type: list
    elements: dict
    default: []
  patches:
    description:
      - Existing objects of which only the given fields are set, after O(objects) were applied.
        Everything else of them is left alone.
    type: list
    elements: dict
    default: []
  field_manager:
    description: Name under which the fields are owned.
    type: str
    default: matrixone-operator
  force:
    description: Whether to take over fields that another manager owns. Otherwise that is an error.
    type: bool
    default: true
  owner:
    description:
      - Object that owns the others. They get an owner reference to it if it has a C(metadata.uid)
        and lives in their namespace, unless they carry the annotation C(matrixorigin.io/keep) with
        value V(true). Those that carry it lose the owner references that they have.
    type: dict
  identified_by:
    description:
      - Labels by which objects that exist are recognized as those of O(owner), with the values of
        the manifest.
      - If given, the task fails at an object that exists, has no owner reference to O(owner), and
        has other values of these labels or another controller. Otherwise it takes over whatever has
        the name of one of O(objects).
    type: list
    elements: str
    default: []
  prune:
    description:
      - Objects to delete that are not among O(objects). Those with the annotation
        C(matrixorigin.io/keep) of value V(true) stay.
    type: dict
    suboptions:
      kinds:
        description: Kinds of the objects.
        type: list
        elements: dict
        default: []
        suboptions: &kind
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
      unless_used_by:
        description: >-
          Kinds whose objects, with the same labels, keep alive what they mention by name.
        type: list
        elements: dict
        default: []
        suboptions: *kind
"""

EXAMPLES = r"""
- name: Apply a ConfigMap
  matrixorigin.matrixone.apply:
    objects:
      - apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: prod, labels: {app: shop}}
        data: {mode: fast}

- name: Apply manifests from a file and remove the app's other ConfigMaps
  matrixorigin.matrixone.apply:
    objects: "{{ lookup('ansible.builtin.file', 'shop.yaml') | from_yaml_all }}"
    prune:
      kinds: [{api_version: v1, kind: ConfigMap}]
      namespace: prod
      labels: {app: shop}
"""

RETURN = r"""
changes:
  description: What happened, as C(Kind namespace/name) and one of created, changed, deleted.
  returned: success
  type: list
  elements: str
  sample: [StatefulSet prod/mo-log created]
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
fields:
  description: Fields to blame.
  returned: when the API server refuses
  type: list
  elements: str
outdated:
  description: An object was changed after it was decided what to write; decide again.
  returned: when that has happened
  type: bool
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
