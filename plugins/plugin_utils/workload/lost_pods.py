# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Force-delete Pods that only a lost node could end."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.reporting.events import Occurrence, occurrence
from ...module_utils.workload import nodes
from ..kubernetes.set_objects import SetObjects


def force_delete(objects: SetObjects, pods: Sequence[Mapping[str, Any]]) -> list[Occurrence]:
    """Force-delete the Pods of a set that are stuck on lost nodes; they hold nothing of value.

    Args:
        objects: nodes are read, and Pods deleted, through it.
        pods: the live Pods of the set.

    Returns:
        An event for each of them.
    """
    now = time.time()
    if not nodes.overdue(pods, now):
        return []
    known = objects.nodes({nodes.node_name(pod) for pod in pods} - {""})
    stuck = nodes.stuck_on_lost_nodes(pods, known, now)
    for pod in stuck:
        objects.delete({"kind": "Pod", **pod}, force=True)
    return [
        occurrence("PodReleased", nodes.release_note(pod), action="Repair", warning=True)
        for pod in stuck
    ]
