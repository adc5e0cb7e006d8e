# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: tn_stores
short_description: "Internal: ask what transaction nodes serve, force-delete Pods on dead nodes"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Asks HAKeeper which shards the transaction nodes of a DNSet serve. They must be known before a
    Pod is replaced.
  - Force-deletes Pods that have been terminating for too long, if their Node was deleted or has the
    taint C(node.kubernetes.io/out-of-service), and HAKeeper does not hear them any more.
  - Deletes the Pod of a transaction node that was silent, as soon as HAKeeper hears it again while
    the log service is ready, because it may refuse the commits of compute nodes. It records the
    silence on the Pod.
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
    description: The DNSet.
    type: dict
    required: true
  workload:
    description: The live StatefulSet of the set.
    type: dict
    required: true
  pods:
    description: The live Pods of the set.
    type: list
    elements: dict
    default: []
  log_set:
    description: The LogSet that it depends on; left out where the log service is an external one.
    type: dict
  timeout:
    description: Seconds that questions to HAKeeper may take.
    type: float
    default: 8
"""

EXAMPLES = r"""
- name: Ask which shards transaction nodes serve
  matrixorigin.matrixone.tn_stores:
    resource: "{{ dnset_resource }}"
    workload: "{{ observed.objects.workload }}"
    pods: "{{ observed.objects.pods }}"
    log_set: "{{ observed.objects.logSet }}"
  register: tn_stores
"""

RETURN = r"""
stores:
  description: >-
    What was found, with the fields of C(TNStoresResult); empty where nothing was asked, in check
    mode for example.
  returned: success
  type: dict
"""
