# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: apply_plan
short_description: "Internal: carry out what was decided for a set"
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Carries out what the filter P(matrixorigin.matrixone.plan#filter) returned for a LogSet, DNSet,
    CNSet, ProxySet or WebUI, in one HTTP session. It records the decisions on the resource, applies
    the objects in order and deletes what is no longer desired, as M(matrixorigin.matrixone.apply)
    does.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
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
  plan:
    description: What the filter returned.
    type: dict
    required: true
  resource:
    description:
      - The resource, which owns the objects, as O(matrixorigin.matrixone.apply#module:owner).
    type: dict
    required: true
  identified_by:
    description:
      - Labels by which objects that exist are recognized as those of O(resource), as in
        M(matrixorigin.matrixone.apply).
    type: list
    elements: str
    default: []
  refuse_invalid:
    description: >-
      Whether the task fails if the spec cannot be used. Otherwise the reason is in the plan, for
      the status.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Decide what should exist, record that and apply it
  matrixorigin.matrixone.apply_plan:
    plan: "{{ webui_resource | matrixorigin.matrixone.plan(observed.objects) }}"
    resource: "{{ webui_resource }}"
  register: applied
"""

RETURN = r"""
plan:
  description: The plan, after a failure, too.
  returned: always
  type: dict
changes:
  description: What happened, as C(Kind namespace/name) and one of created, changed, deleted.
  returned: when the spec can be used
  type: list
  elements: str
  sample: [StatefulSet prod/mo-log created]
done:
  description: The same as data, with C(kind), C(name) and C(change), without what was recorded.
  returned: when the spec can be used
  type: list
  elements: dict
objects:
  description:
    - The objects as the API server has them now, by C(Kind/name), without managed fields and
      without the values in Secrets and ConfigMaps.
  returned: when the spec can be used
  type: dict
before:
  description: The objects that were changed, as they were before, in the same form.
  returned: when the spec can be used
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
