# SPDX-License-Identifier: Apache-2.0
"""What Pods use, and what is not known of it."""

from pathlib import Path
from typing import Any

import pytest

from kubectl_matrixone.reading import facts_of
from kubectl_matrixone.terminal import Style
from kubectl_matrixone.usage import amount, lines, usages

from . import objects

GOLDEN = Path(__file__).parent / "golden"
NODES = {one["podName"]: one["uuid"] for one in objects.STORES}


def measured(name: str, *containers: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "containers": [{"usage": one} for one in containers]}


METRICS = {
    "items": [
        measured("mo-tp-cn-a", {"cpu": "250m", "memory": "512Mi"}, {"cpu": "1", "memory": "1Gi"}),
        measured("mo-tp-cn-b", {"cpu": "12345678n", "memory": "131072Ki"}),
        measured("mo-dn-0", {"cpu": "1", "memory": "many"}),
        measured("mo-log-0"),
    ]
}
FACTS = facts_of(objects.cluster(), objects.PARTS, [])


def test_the_screen_is_as_released(request: pytest.FixtureRequest) -> None:
    sessions = {NODES["mo-tp-cn-a"]: 3}
    known = lines(list(usages(FACTS, NODES, sessions, METRICS)), FACTS, [], Style())
    unknown = lines(list(usages(FACTS, NODES, None, {})), FACTS, ["sessions: no login"], Style())
    text = "\n".join((*known, "", *unknown, ""))
    path = GOLDEN / "top.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


def test_sessions_of_a_node_that_is_not_known_are_not_none() -> None:
    [one] = [each for each in usages(FACTS, {}, {}, {}) if each.pod == "mo-tp-cn-a"]
    assert (one.sessions, one.cpu, one.memory) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("250m", 0.25),
        ("1", 1.0),
        ("1500000n", 0.0015),
        ("2Ki", 2048.0),
        ("1.5Gi", 1.5 * 2**30),
        ("", None),
        ("many", None),
        ("1Xi", None),
        (None, None),
        ("-1", None),
    ],
)
def test_quantities_are_numbers_or_unknown(text: Any, value: float | None) -> None:
    found = amount(text)
    assert found == (None if value is None else pytest.approx(value))
