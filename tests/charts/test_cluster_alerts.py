# SPDX-License-Identifier: Apache-2.0
"""Alerts on clusters fire for what is broken, and are silent for what somebody wants so."""

import pytest

from tests.charts.alerting import Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

OWN = {"kind": "MatrixOneCluster", "object_namespace": "prod", "object": "mo"}
GROUP = 'group="core.matrixorigin.io"'

pytestmark = pytest.mark.rpc


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return alerts_of(helm, "MatrixOneCluster")


def condition(kind: str, reason: str) -> str:
    return f'resource_condition{{{GROUP},condition="{kind}",reason="{reason}"}}'


def ready(reason: str) -> str:
    return condition("Ready", reason)


UPGRADE = {
    ready("AllSetsReady"): "1x29 _x3 1x99",
    ready("Reconciling"): "_x29 -1x2 _x99",
}
"""Unknown for three minutes while the transaction node is replaced."""


@pytest.mark.parametrize(
    ("name", "series", "minute", "expected"),
    [
        ("NotReady", {ready("AllSetsReady"): always(1)}, 70, False),
        ("NotReady", {ready("SQLNotAnswered"): always(0)}, 70, True),
        ("NotReady", {ready("SQLNotAnswered"): "1x60 0x999"}, 64, False),
        ("NotReady", {ready("SQLNotAnswered"): "1x60 0x999"}, 66, True),
        ("NotReady", {ready("HAKeeperUnreachable"): always(-1)}, 70, True),
        *(
            ("NotReady", {ready(reason): always(0)}, 70, False)
            for reason in ("Hibernated", "Stopped", "Restoring", "Deleting")
        ),
        ("NotReady", UPGRADE, 32, False),
        ("NotReady", {condition("Synced", "RollingOut"): always(0)}, 70, False),
        ("Degraded", {condition("Degraded", "AsExpected"): always(0)}, 70, False),
        ("Degraded", {condition("Degraded", "StoresFailed"): always(1)}, 70, True),
        ("Degraded", {condition("Degraded", "StoresFailed"): "0x60 1x999"}, 70, False),
    ],
)
def test_an_alert_fires_when_it_should(engine, alerts, name, series, minute, expected):
    assert engine.fires(alerts[f"MatrixOneCluster{name}"], OWN, series, minute) is expected


def test_other_kinds_are_not_meant(engine, alerts):
    """A component that is not ready is told by its cluster, a pool by its own alerts."""
    pool = {**OWN, "kind": "CNPool"}
    series = {ready("NoEnoughReadyStores"): always(0)}

    assert not engine.fires(alerts["MatrixOneClusterNotReady"], pool, series, 70)


def test_every_alert_has_a_page_to_follow(alerts):
    assert len(alerts) == 2
    assert without_page(alerts) == []
