# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass over a DNSet."""

from __future__ import annotations

from ...module_utils.workload import nodes
from ..checking.shared import APPLY, BEGIN, GROW, REPORT, rolls
from ..checking.snapshot import Snapshot, Step


def _is_stuck(snapshot: Snapshot) -> bool:
    """Tell whether Pods may be stuck on dead nodes; shards move only while Pods are replaced."""
    return bool(nodes.overdue(snapshot.pods, snapshot.now))


STEPS = (
    BEGIN,
    Step(
        "Ask which shards the transaction nodes serve and force-delete Pods on dead nodes",
        _is_stuck,
    ),
    GROW,
    APPLY,
    Step("Replace transaction nodes of an earlier template", rolls),
    REPORT,
)
