# SPDX-License-Identifier: Apache-2.0
"""Each alert on certificates fires when it should and only then, by the engine of Prometheus."""

import pytest

from tests.charts.alerting import Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

OWN = {"set_namespace": "prod", "set_kind": "ProxySet", "set": "mo"}
RENEWAL, EXPIRY = (f"certificate_{what}_timestamp_seconds" for what in ("renew_before", "expiry"))

pytestmark = pytest.mark.rpc


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return alerts_of(helm, "MatrixOneCertificate")


@pytest.mark.parametrize(
    ("name", "series", "minute", "expected"),
    [
        ("Expires", {RENEWAL: always(3600)}, 50, False),
        ("Expires", {RENEWAL: always(3600)}, 63, False),
        ("Expires", {RENEWAL: always(3600)}, 70, True),
        ("Expires", {RENEWAL: "3600x62 999999x60"}, 70, False),
        ("Expired", {EXPIRY: always(3600)}, 50, False),
        ("Expired", {EXPIRY: always(3600)}, 70, True),
        ("Expired", {RENEWAL: always(60), EXPIRY: always(999999)}, 70, False),
    ],
)
def test_an_alert_fires_when_it_should(engine, alerts, name, series, minute, expected):
    assert engine.fires(alerts[f"MatrixOneCertificate{name}"], OWN, series, minute) is expected


def test_every_alert_has_a_page_to_follow(alerts):
    assert len(alerts) == 2
    assert without_page(alerts) == []
