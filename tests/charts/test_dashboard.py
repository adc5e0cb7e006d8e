# SPDX-License-Identifier: Apache-2.0
"""The dashboard shows what the operator exports, and its panels have places of their own."""

import json
import re
from itertools import combinations
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.schedule import (
    metrics as schedule_metrics,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification import (
    verdicts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket import status as bucket
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import pool_metrics

from tests.support.places import ROOT

Json = dict[str, Any]

FILE = ROOT / "charts" / "matrixone-ansible-operator" / "files" / "dashboard.json"
PANELS: list[Json] = json.loads(FILE.read_text())["panels"]
EXPRESSIONS = [one["expr"] for panel in PANELS for one in panel["targets"]]

RESOURCE: Json = {"metadata": {"name": "n", "namespace": "prod"}, "spec": {"s3": {"path": "b/p"}}}
REQUESTS = [
    *schedule_metrics.no_metrics_of(RESOURCE),
    *verdicts.metrics_of(RESOURCE, None),
    *bucket.metrics_of(RESOURCE, None),
    *pool_metrics.no_metrics_of(RESOURCE),
]
LABELS: dict[str, set[str]] = {}
for _one in REQUESTS:
    LABELS.setdefault(_one["name"], set()).update(_one["labels"])
FURTHER = {"phase", "reason", "le"}
"""Labels that only some passes of a pool give."""
FOR_ALERTS_ALONE = {
    "matrixone_backup_schedule_created_timestamp_seconds",
    "matrixone_backup_alert_after_seconds",
    "matrixone_backup_suspended",
    "matrixone_backups",
    "matrixone_backup_verification_rows",
    "matrixone_pool_at_max_pods",
    "matrixone_pool_hakeeper_unreachable",
}


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda one: one["name"])
def test_no_label_is_one_that_prometheus_sets_itself(request_: Json) -> None:
    """It would be renamed, and the value be that of the operator's Pod."""
    assert not {"namespace", "job", "instance", "pod", "service"} & set(request_["labels"])


def test_everything_that_is_measured_is_shown() -> None:
    shown = set(re.findall(r"matrixone_\w+", " ".join(EXPRESSIONS)))
    missing = {name for name in LABELS if not any(one.startswith(name) for one in shown)}
    assert missing - FOR_ALERTS_ALONE == set()


@pytest.mark.parametrize("expression", [one for one in EXPRESSIONS if "matrixone_" in one])
def test_series_are_grouped_by_labels_that_they_have(expression: str) -> None:
    name = re.search(r"matrixone_\w+", expression)[0]  # type: ignore[index]
    labels = LABELS[name if name in LABELS else name.removesuffix("_bucket")]
    grouped = {
        label.strip()
        for found in re.findall(r"by \(([^)]*)\)", expression)
        for label in found.split(",")
    }
    assert grouped <= labels | FURTHER


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_legend_names_labels_that_are_left(panel: Json) -> None:
    for target in panel["targets"]:
        named = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        outermost = re.findall(r"by \(([^)]*)\)", target["expr"])[:1]
        assert named <= {label.strip() for one in outermost for label in one.split(",")}


def test_panels_do_not_overlap() -> None:
    def overlap(one: Json, other: Json) -> bool:
        return all(
            one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
            for at, size in (("x", "w"), ("y", "h"))
        )

    places = [(panel["title"], panel["gridPos"]) for panel in PANELS]
    assert [(a, b) for (a, one), (b, two) in combinations(places, 2) if overlap(one, two)] == []
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
