# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: cn_stores
short_description: "Internal: set work states in HAKeeper, drain compute nodes that leave"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Runs one pass over all compute nodes of a CNSet. Each gets its work state and its labels. One
    that is cordoned or leaves gets no new sessions. Those that leave because the set shrinks are
    drained, which takes several passes.
  - It ends by its timeout, whatever MatrixOne does. When HAKeeper cannot be reached, that is a
    result and no failure, and what could not be found out counts as busy.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It does nothing.
    support: partial
    details: MatrixOne has no dry run.
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The CNSet.
    type: dict
    required: true
  log_set:
    description: The LogSet that it depends on; left out where the log service is an external one.
    type: dict
  workload:
    description: The live Deployment of the set, if there is one.
    type: dict
  timeout:
    description: Seconds that a pass may take.
    type: float
    default: 10
  health:
    description:
      - What M(matrixorigin.matrixone.health) found. Pods that do not answer, although HAKeeper
        hears them, are replaced.
    type: dict
    default: {}
  await_drains:
    description:
      - Whether to run further passes until no drain is in progress, which takes a minute longer
        than C(spec.scalingConfig.storeDrainTimeout) at most. For playbooks, which run once.
    type: bool
    default: false
  await_registered:
    description:
      - Whether to run further passes, for 30 seconds at most, until all Pods have their state in
        HAKeeper. The others are listed in a warning, also where HAKeeper cannot be reached.
    type: bool
    default: false
  write_status:
    description:
      - Whether to write to the status of the set, which is being deleted, and to Events what
        O(await_drains) waits for, as long as it does.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Set work state and labels of compute nodes
  matrixorigin.matrixone.cn_stores:
    resource: "{{ cnset }}"
    log_set: "{{ observed.objects.logSet }}"
    workload: "{{ observed.objects.workload }}"
  register: cn_stores
"""

RETURN = r"""
stores:
  description: >-
    How the pass ended, with the fields of C(CNStoresResult); empty where there was none, in check
    mode for example.
  returned: success
  type: dict
"""
