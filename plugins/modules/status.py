# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: status
short_description: "Internal: write the status of a custom resource"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Writes the status subresource, and only when it says something new. A condition keeps its
    C(lastTransitionTime) while its status stays.
  - Emits Kubernetes Events for the conditions that changed, and for O(events).
  - Does nothing for a resource that no longer exists.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: The API server tries the change and keeps nothing.
    support: full
  diff_mode:
    description: Shows the status before and after.
    support: full
options:
  resource:
    description: The custom resource; its identity and, if given, its C(metadata.uid) count.
    type: dict
    required: true
  status:
    description: >-
      The whole status. What it leaves out and was written by this action before is removed.
      Either this or O(report) is required.
    type: dict
  report:
    description: >-
      What the filter P(matrixorigin.matrixone.report#filter) returned: status and Events in one.
    type: dict
  events:
    description: Events to emit, each with C(type), C(reason), C(action) and C(note).
    type: list
    elements: dict
    default: []
  event_on_refusal:
    description: >-
      Reason of a Warning Event to emit when the API server refuses to write the status; none if
      empty.
    type: str
    default: ""
  field_manager:
    description: Name under which the fields are owned, with C(-status) added to it.
    type: str
    default: matrixone-operator
  unless_changed:
    description: >-
      Whether to fail with C(outdated) if the status is no longer that of O(resource), by which this
      one was decided.
    type: bool
    default: false
  failure:
    description: Message with which to fail after the status has been written; empty not to fail.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Say that the log service is ready
  matrixorigin.matrixone.status:
    resource: "{{ logset_resource }}"
    status:
      observedGeneration: "{{ logset_resource.metadata.generation }}"
      conditions:
        - type: Ready
          status: "True"
          reason: EnoughReadyStores
          message: 3/3 log stores are ready
"""

RETURN = r"""
status:
  description: The status as it is now.
  returned: when the resource exists
  type: dict
events:
  description: Reasons of the Events that were emitted.
  returned: when the resource exists
  type: list
  elements: str
requeue:
  description: >-
    When to check again, for M(matrixorigin.matrixone.requeue_after); empty for not at all.
  returned: with O(report)
  type: str
  sample: 15s
"""
