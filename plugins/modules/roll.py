# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: roll
short_description: "Internal: take the rolling update of a LogSet or DNSet one step further"
version_added: 0.1.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Replaces Pods that do not have the latest template of their StatefulSet, whose update strategy
    is C(OnDelete). It takes one step and returns at once.
  - Pods that cannot become ready, because of their image or their configuration, are replaced
    first and at once. Of those that serve, one is replaced at a time, and only while all others
    serve and have been ready for C(minReadySeconds) of the set.
  - A log store is replaced only if every log shard has all its other replicas in HAKeeper. Where
    the operator cannot reach the network of the log service, readiness has to suffice.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
  - matrixorigin.matrixone.connection
attributes:
  check_mode:
    description: It decides, and deletes nothing.
    support: full
  diff_mode:
    description: It has nothing to show.
    support: none
options:
  resource:
    description: The LogSet or DNSet.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Replace the next log store
  matrixorigin.matrixone.roll:
    resource: "{{ log_set }}"
  register: rolled
"""

RETURN = r"""
roll:
  description: What the step did, with the fields of C(RollStep).
  returned: success
  type: dict
"""
