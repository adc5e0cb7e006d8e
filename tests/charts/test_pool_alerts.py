# SPDX-License-Identifier: Apache-2.0
"""Each alert on pools fires when it should and only then, as the engine of Prometheus decides."""

import pytest

from tests.charts.alerting import HOUR, Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

OWN = {"pool_namespace": "prod", "pool": "shared"}
OLDEST = "pool_oldest_waiting_timestamp_seconds"
IDLE, OTHERS = 'pool_pods{phase="idle"}', 'pool_pods{phase="starting"}'
DESIRED = "pool_idle_desired"
MISSES, BOUND = "pool_misses_total", "pool_bind_seconds_count"

pytestmark = pytest.mark.rpc


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return alerts_of(helm, "MatrixOnePool")


@pytest.mark.parametrize(
    ("name", "series", "minute", "expected"),
    [
        ("ClaimsWait", {OLDEST: always(0)}, 5, False),
        ("ClaimsWait", {OLDEST: always(0)}, 8, True),
        ("ClaimsWait", {OLDEST: f"0x4 _x{HOUR}"}, 20, False),
        ("ClaimsWait", {OLDEST: "0+240x100"}, 60, False),
        ("NoIdle", {IDLE: always(0), OTHERS: always(3), DESIRED: always(2)}, 30, True),
        ("NoIdle", {IDLE: always(1), OTHERS: always(0), DESIRED: always(2)}, 30, False),
        ("NoIdle", {IDLE: always(0), OTHERS: always(0), DESIRED: always(0)}, 30, False),
        ("NoIdle", {IDLE: f"1x20 0x{HOUR}", DESIRED: always(2)}, 30, False),
        ("NoIdle", {IDLE: f"1x20 0x{HOUR}", DESIRED: always(2)}, 37, True),
        ("AtMaxPods", {"pool_at_max_pods": always(0)}, 30, False),
        ("AtMaxPods", {"pool_at_max_pods": f"0x20 1x{HOUR}"}, 30, False),
        ("AtMaxPods", {"pool_at_max_pods": f"0x20 1x{HOUR}"}, 37, True),
        ("Misses", {MISSES: "0+3x200", BOUND: "0+10x200"}, 90, True),
        ("Misses", {MISSES: "0+1x200", BOUND: "0+10x200"}, 90, False),
        ("Misses", {MISSES: "0x70 3x200", BOUND: "0x70 3x200"}, 90, False),
        ("Misses", {MISSES: "0x200", BOUND: "0x200"}, 90, False),
        ("Unreachable", {"pool_hakeeper_unreachable": always(0)}, 30, False),
        ("Unreachable", {"pool_hakeeper_unreachable": f"0x20 1x3 0x{HOUR}"}, 30, False),
        ("Unreachable", {"pool_hakeeper_unreachable": f"0x20 1x{HOUR}"}, 27, True),
    ],
)
def test_an_alert_fires_when_it_should(engine, alerts, name, series, minute, expected):
    assert engine.fires(alerts[f"MatrixOnePool{name}"], OWN, series, minute) is expected


def test_every_alert_has_a_page_to_follow(alerts):
    assert len(alerts) == 5
    assert without_page(alerts) == []
