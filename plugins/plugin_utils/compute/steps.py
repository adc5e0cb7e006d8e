# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a pass over a CNSet."""

from __future__ import annotations

from ...module_utils.api.pods import live_pods
from ...module_utils.compute.pass_input import PassInput
from ...module_utils.compute.pods import (
    became_ready_lately,
    policy_of,
    recorded_states,
    without_state,
)
from ..checking.shared import APPLY, BEGIN, REPORT
from ..checking.snapshot import Snapshot, Step


def _asks(snapshot: Snapshot) -> bool:
    """Tell whether HAKeeper has to be asked, or anything to be set in it."""
    resource, workload, now = snapshot.resource, snapshot.workload, snapshot.now
    if workload is None:
        return False
    pods = live_pods(snapshot.pods)
    if set(became_ready_lately(pods, now)) & set(without_state(pods, recorded_states(resource))):
        return True
    desired, present = resource["spec"].get("replicas"), workload["spec"].get("replicas")
    return PassInput(policy_of(resource), desired, present, pods, (), (), now).is_managed


STEPS = (
    BEGIN,
    Step("Set work state and labels in HAKeeper and drain compute nodes that leave", _asks),
    APPLY,
    REPORT,
)
