# SPDX-License-Identifier: Apache-2.0
"""Each alert on backups fires when it should and only then, as the engine of Prometheus decides."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed.building import provide
from tests.charts.releases import OPERATOR, Helm, find
from tests.support.places import ROOT

HOUR = 60
"""Samples: one each minute."""
DAY = 24 * HOUR
HOLD = {"15m": 15, "5m": 5}


@pytest.fixture(scope="module")
def promql() -> Path:
    return provide(["promql"])["promql"]


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> dict[str, dict[str, Any]]:
    rule = find(helm.template(OPERATOR, "metrics.prometheusRule.enabled=true"), "PrometheusRule")
    [group] = rule["spec"]["groups"]
    found = {one["alert"]: one for one in group["rules"]}
    return {name: one for name, one in found.items() if name.startswith("MatrixOneBackup")}


def fires(promql: Path, alert: dict[str, Any], series: dict[str, str], minute: int) -> bool:
    """Tell whether an alert fires at a minute: its condition has held for long enough."""
    named = {"schedule_namespace": "prod", "schedule": "nightly"}
    if "Verification" in alert["alert"]:
        named = {"source": "matrixonecluster/prod/mo", "backup": "nightly-1"}
    own = ",".join(f'{name}="{value}"' for name, value in named.items())
    labels = f'{{{_ours(alert)},pod="p",{own}}}'
    load = "load 1m\n" + "".join(f"  matrixone_{name}{labels} {v}\n" for name, v in series.items())
    held = range(minute - HOLD[alert["for"]], minute + 1)
    queries = [{"expr": alert["expr"], "at": at * 60} for at in held]
    done = subprocess.run(
        [promql],
        input=json.dumps({"load": load, "queries": queries}),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert all(sample.items() >= named.items() for one in answers for sample in one)
    return all(answers)


def _ours(alert: dict[str, Any]) -> str:
    """Return the labels by which an alert selects what this operator shows."""
    found = re.search(r'job="[^"]+",namespace="[^"]+"', alert["expr"])
    assert found
    return found.group()


def always(value: float) -> str:
    return f"{value}x{4 * DAY}"


LIMIT = {
    "backup_alert_after_seconds": always(26 * 3600),
    "backup_schedule_created_timestamp_seconds": always(0),
}
NIGHTLY = f"0x{DAY} {DAY * 60}x{DAY} {2 * DAY * 60}x{DAY}"
"""The newest backup is of the last midnight, for three days."""


@pytest.mark.parametrize(
    ("name", "series", "minute", "expected"),
    [
        ("TooOld", {**LIMIT, "backup_newest_timestamp_seconds": NIGHTLY}, 3 * DAY - 1, False),
        ("TooOld", {**LIMIT, "backup_newest_timestamp_seconds": always(0)}, 26 * HOUR, False),
        ("TooOld", {**LIMIT, "backup_newest_timestamp_seconds": always(0)}, 26 * HOUR + 15, False),
        ("TooOld", {**LIMIT, "backup_newest_timestamp_seconds": always(0)}, 26 * HOUR + 20, True),
        ("TooOld", LIMIT, 25 * HOUR, False),
        ("TooOld", LIMIT, 27 * HOUR, True),
        ("Fails", {"backup_failures": always(0)}, 60, False),
        ("Fails", {"backup_failures": f"0x{HOUR} 1x{DAY}"}, 63, False),
        ("Fails", {"backup_failures": f"0x{HOUR} 1x{DAY}"}, 70, True),
        ("Broken", {"backups_broken": always(0)}, 60, False),
        ("Broken", {"backups_broken": always(1)}, 60, True),
        ("ChainBroken", {"backups_unchained": always(0)}, 60, False),
        ("ChainBroken", {"backups_unchained": always(2)}, 60, True),
        ("VerificationFailed", {"backup_verification_incomplete": always(1)}, 60, False),
        ("VerificationFailed", {"backup_verification_passed": always(1)}, 60, False),
        ("VerificationFailed", {"backup_verification_passed": f"1x{HOUR} 0x{DAY}"}, 70, True),
        ("VerificationIncomplete", {"backup_verification_incomplete": always(0)}, 60, False),
        ("VerificationIncomplete", {"backup_verification_incomplete": always(1)}, 60, True),
    ],
)
def test_an_alert_fires_when_it_should(promql, alerts, name, series, minute, expected):
    assert fires(promql, alerts[f"MatrixOneBackup{name}"], series, minute) is expected


def test_every_alert_has_a_page_to_follow(alerts):
    page = (ROOT / "docs" / "monitor.md").read_text()
    assert len(alerts) == 6
    for name, alert in alerts.items():
        place, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert place.endswith("/docs/monitor.md")
        assert (anchor, f"\n### {name}\n" in page) == (name.lower(), True)
