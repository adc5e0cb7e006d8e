# SPDX-License-Identifier: Apache-2.0
"""How far a cluster is on its way to sleep, and back."""

from typing import Any

import pytest

from kubectl_matrixone.commands.hibernation import state_of


def _cluster(generation: int, **status: Any) -> Any:
    return {"metadata": {"name": "mo", "generation": generation}, "status": status}


_SERVES = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("cluster", "falls_asleep", "step", "outcome"),
    [
        (_cluster(2), True, "waits for the operator", "Open"),
        (
            _cluster(2, observedGeneration=1, hibernation={"state": "Asleep"}),
            True,
            "waits for the operator",
            "Open",
        ),
        (_cluster(2, observedGeneration=2), True, "Awake", "Open"),
        (
            _cluster(2, observedGeneration=2, hibernation={"state": "FallingAsleep"}),
            True,
            "FallingAsleep",
            "Open",
        ),
        (
            _cluster(2, observedGeneration=2, hibernation={"state": "Asleep"}),
            True,
            "Asleep",
            "Done",
        ),
        (
            _cluster(2, observedGeneration=1, conditions=_SERVES),
            False,
            "waits for the operator",
            "Open",
        ),
        (_cluster(2, observedGeneration=2, conditions=[]), False, "Waking", "Open"),
        (_cluster(2, observedGeneration=2, conditions=_SERVES), False, "Awake", "Done"),
    ],
)
def test_how_far_a_cluster_is_on_its_way_to_sleep(
    cluster: Any, falls_asleep: bool, step: str, outcome: str
) -> None:
    """What was reported of an earlier spec counts for nothing."""
    found = state_of(cluster, falls_asleep=falls_asleep)
    assert (found.step, found.outcome.value) == (step, outcome)
