# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: observe
short_description: "Internal: fetch Kubernetes objects by name or by label"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Fetches objects in one HTTP session. What does not exist is null or an empty list, never an
    error.
  - Values in Secrets are never returned, those in ConfigMaps only when asked for.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It only reads.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
options:
  references:
    description:
      - What to fetch, by labels of your choice. Each has C(api_version), C(kind), C(namespace), and
        either C(name) or C(labels).
      - With C(labels) it can have C(owner_uid). With both C(name) and C(labels), an object of that
        name counts only if it has the owner C(owner_uid), or no controller and the labels.
      - With C(name) of a ConfigMap, C(data) set to V(true)
        returns the data as well.
      - C(latest) set to V(true) with C(name) reads the object from the API server, not from a cache
        of the operator.
      - C(allowed_to) with C(name) of a set of this collection is a namespace; a set of another one
        is null unless its C(spec.allowedNamespaces) lists it.
      - C(applied) set to V(true) keeps those entries of C(metadata.managedFields) that say what
        M(matrixorigin.matrixone.apply) has applied.
      - C(without) with C(labels) is a label that no object of the list has.
      - C(explains) alone, with the labels C(workload) and C(pods) of other references, is what
        Events say about Pods that are not created or do not start; none is read while all do.
      - C(if_allowed) set to V(true) makes it null where the API server forbids to read it.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Look at a StatefulSet and its Pods
  matrixorigin.matrixone.observe:
    references:
      workload: {api_version: apps/v1, kind: StatefulSet, namespace: prod, name: mo-log}
      pods: {api_version: v1, kind: Pod, namespace: prod, labels: {matrixorigin.io/instance: mo}}
  register: seen
"""

RETURN = r"""
objects:
  description: An object, null or a list under each label of O(references).
  returned: success
  type: dict
"""
