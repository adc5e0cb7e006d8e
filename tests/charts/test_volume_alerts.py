# SPDX-License-Identifier: Apache-2.0
"""The alert on volumes of log stores, by what kubelets show of them."""

import pytest

from tests.charts.alerting import Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

pytestmark = pytest.mark.rpc

ALERT = "MatrixOneLogVolumeFillsUp"
GIBI = 1 << 30


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return alerts_of(helm, "MatrixOneLogVolume")


def figures(available: str) -> dict[str, str]:
    """Return what a kubelet shows of a volume of 100 GiB."""
    return {
        "kubelet_volume_stats_available_bytes": available,
        "kubelet_volume_stats_capacity_bytes": always(100 * GIBI),
    }


@pytest.mark.parametrize(
    ("claim", "available", "minute", "expected"),
    [
        ("mo-data-mo-log-0", always(21 * GIBI), 70, False),
        ("mo-data-mo-log-0", always(19 * GIBI), 70, True),
        ("mo-data-mo-log-12", always(0), 70, True),
        ("mo-data-mo-log-0", f"{50 * GIBI}x60 {GIBI}x999", 64, False),
        ("mo-data-mo-log-0", f"{50 * GIBI}x60 {GIBI}x999", 66, True),
        ("mo-data-mo-dn-0", always(0), 70, False),
        ("data-mo-log-0", always(0), 70, False),
        ("mo-data-mo-log-old", always(0), 70, False),
    ],
)
def test_the_alert_fires_before_a_volume_is_full(
    engine, alerts, claim, available, minute, expected
):
    own = {"namespace": "prod", "persistentvolumeclaim": claim}
    assert engine.fires(alerts[ALERT], own, figures(available), minute) is expected


def test_the_alert_has_a_page_to_follow(alerts):
    assert list(alerts) == [ALERT]
    assert without_page(alerts) == []
