# SPDX-License-Identifier: Apache-2.0
"""Each alert on backups fires when it should and only then, as the engine of Prometheus decides."""

import pytest

from tests.charts.alerting import DAY, HOUR, Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

pytestmark = pytest.mark.rpc


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return alerts_of(helm, "MatrixOneBackup")


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
def test_an_alert_fires_when_it_should(engine, alerts, name, series, minute, expected):
    own = {"schedule_namespace": "prod", "schedule": "nightly"}
    if "Verification" in name:
        own = {"source": "matrixonecluster/prod/mo", "backup": "nightly-1"}
    assert engine.fires(alerts[f"MatrixOneBackup{name}"], own, series, minute) is expected


def test_every_alert_has_a_page_to_follow(alerts):
    assert len(alerts) == 6
    assert without_page(alerts) == []
