# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass over a MatrixOneCluster."""

from __future__ import annotations

from ..checking.shared import APPLY, BEGIN, REPORT
from ..checking.snapshot import Snapshot, Step


def _lacks_credential(snapshot: Snapshot) -> bool:
    return bool(snapshot.plan.credential) and snapshot.observed.get("credential") is None


def _lacks_metric_user(snapshot: Snapshot) -> bool:
    """Tell whether the user is still to be created; its Secret is read in full passes only."""
    metrics = snapshot.resource["status"].get("clusterMetrics") or {}
    return bool(snapshot.plan.metrics) and not metrics.get("initialized")


STEPS = (
    BEGIN,
    Step("Create the root credential unless there is one", _lacks_credential),
    Step("Apply the children and delete those that are no longer desired", APPLY.is_needed),
    Step(
        "Set the root credential of the database to that of its Secret",
        lambda snapshot: bool(snapshot.plan.rotation),
    ),
    Step("Create the SQL user that may read the metrics tables", _lacks_metric_user),
    REPORT,
)
