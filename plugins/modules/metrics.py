# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: metrics
short_description: "Internal: show numbers as metrics of the operator"
version_added: 0.2.0
author: MatrixOne maintainers (@matrixorigin)
description:
  - Hands metrics to the operator that plays the role, which exposes them with its own.
  - Without an operator it does nothing. Metrics that the operator does not take are a warning.
extends_documentation_fragment:
  - matrixorigin.matrixone.internal
attributes:
  check_mode:
    description: Nothing is reported.
    support: full
  diff_mode:
    description: It changes nothing.
    support: none
options:
  metrics:
    description: >-
      Requests to the metrics API of the operator, each with C(name), C(description), C(labels) and
      one of C(gauge), C(counter), C(histogram) and C(summary) with its operation.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show how many backups there are
  matrixorigin.matrixone.metrics:
    metrics:
      - name: matrixone_backups
        description: Backups of a schedule.
        labels: {schedule_namespace: default, schedule: nightly}
        gauge: {set: 7}
"""

RETURN = r"""
reported:
  description: How many metrics the operator has taken.
  returned: always
  type: int
"""
