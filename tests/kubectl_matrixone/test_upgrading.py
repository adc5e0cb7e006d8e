# SPDX-License-Identifier: Apache-2.0
"""The plan of an upgrade, and how far it is."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubectl_matrixone.following import Outcome
from kubectl_matrixone.reading import facts_of
from kubectl_matrixone.upgrading import plan, release, upgrade_state

from . import objects

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
WINDOW = {
    "open": False,
    "nextChange": "2026-11-28T01:00:00Z",
    "message": "version waits for the window",
}
PLANS = {
    "under-way": (objects.ILL, [], ""),
    "within": (objects.cluster(), [], "3.0.19"),
    "minor": (objects.cluster(tn={"dataVersion": "3.0.18"}), objects.BACKUPS, "3.1.0"),
    "major": (objects.cluster(), objects.BACKUPS[:1], "4.0.0"),
    "unknown-backup": (objects.cluster(), [], "3.1.0"),
    "lower": (objects.cluster(tn={"dataVersion": "3.1.0"}), [], "3.0.19"),
    "nightly": (objects.cluster(), [], "nightly-20261101"),
    "window": (objects.cluster(maintenance=WINDOW), [], "3.0.19"),
    "data-unknown": (objects.cluster(version=""), [], "3.1.0"),
}


def test_plans_are_as_released(request: pytest.FixtureRequest) -> None:
    texts = []
    for name, (cluster, backups, version) in PLANS.items():
        facts = facts_of(cluster, [], backups)
        lines = plan(cluster, facts.upgrade, facts.backup, version, NOW)
        texts.append("\n".join((f"== {name}", *lines, "")))
    text = "\n".join(texts)
    path = GOLDEN / "upgrade-plans.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize(
    ("version", "parsed"),
    [
        ("3.0.18", (3, 0)),
        ("v2.1.0-hotfix-1", (2, 1)),
        ("3.1", (3, 1)),
        ("nightly-20261101", None),
        ("2024.11.16", None),
        ("20241116.0.0", None),
        ("3", None),
        ("", None),
        ("3.x.1", None),
    ],
)
def test_a_release_is_known_or_not(version: str, parsed: tuple[int, int] | None) -> None:
    assert release(version) == parsed


def upgraded(generation: int = 2, **status: Any) -> Json:
    one = objects.cluster(observedGeneration=2, **status)
    one["metadata"]["generation"] = generation
    return one


TO = {"to": "3.0.18", "phase": "Updating", "message": "waiting for CNSet mo-tp"}
ILL = objects.well(Degraded=("True", "CanaryFailed", "it does not answer"))


@pytest.mark.parametrize(
    ("cluster", "text", "outcome"),
    [
        (upgraded(), "Completed: MatrixOne 3.0.18", Outcome.DONE),
        (upgraded(upgrade={**TO, "phase": "Completed"}), "Completed", Outcome.DONE),
        (upgraded(generation=3), "Waiting for the operator", Outcome.OPEN),
        (upgraded(upgrade=TO), "Updating: waiting for CNSet mo-tp", Outcome.OPEN),
        (upgraded(upgrade={**TO, "phase": "Held"}), "Held: waiting for", Outcome.OPEN),
        (upgraded(version="3.0.17", message="one Pod is left"), "one Pod is left", Outcome.OPEN),
        (
            upgraded(upgrade=TO, conditions=ILL),
            "Updating: waiting for CNSet mo-tp; Degraded, CanaryFailed: it does not answer",
            Outcome.OPEN,
        ),
        (upgraded(conditions=[]), "Updating", Outcome.OPEN),
        (
            upgraded(version="3.0.17", maintenance=WINDOW),
            "Updating: version waits for the window",
            Outcome.OPEN,
        ),
    ],
    ids=[
        "done",
        "completed",
        "unseen",
        "updating",
        "held",
        "within",
        "ill",
        "not-synced",
        "window",
    ],
)
def test_an_upgrade_is_over_when_all_runs_what_the_spec_asks_for(
    cluster: Json, text: str, outcome: Outcome
) -> None:
    state = upgrade_state(cluster)
    assert (text in state.text, state.outcome) == (True, outcome), state
