# SPDX-License-Identifier: Apache-2.0
"""Alerts on DatabaseUsers and Databases fire for what somebody has to do, and not while they wait."""

import pytest

from tests.charts.alerting import Alerts, alerts_of, always, without_page
from tests.charts.releases import Helm

OWN = {"kind": "DatabaseUser", "object_namespace": "prod", "object": "shop"}

pytestmark = pytest.mark.rpc


@pytest.fixture(scope="module")
def alerts(helm: Helm) -> Alerts:
    return {**alerts_of(helm, "MatrixOneUser"), **alerts_of(helm, "MatrixOneDatabase")}


def condition(kind: str, reason: str) -> str:
    return (
        f'resource_condition{{group="core.matrixorigin.io",condition="{kind}",reason="{reason}"}}'
    )


READY = {condition("Ready", "LoginAccepted"): always(1)}


@pytest.mark.parametrize(
    ("series", "minute", "expected"),
    [
        (READY | {condition("Synced", "Applied"): always(1)}, 70, False),
        (READY | {condition("Synced", "DatabaseMissing"): always(0)}, 70, True),
        ({condition("Ready", "PasswordRefused"): always(0)}, 70, True),
        ({condition("Ready", "SQLNotAnswered"): always(-1)}, 70, True),
        ({condition("Ready", "PasswordRefused"): "1x60 0x999"}, 74, False),
        ({condition("Ready", "PasswordRefused"): "1x60 0x999"}, 76, True),
        ({condition("Ready", "DependencyNotReady"): always(0)}, 70, False),
        ({condition("Ready", "Deleting"): always(0)}, 70, False),
    ],
)
def test_the_alert_fires_when_it_should(engine, alerts, series, minute, expected):
    assert engine.fires(alerts["MatrixOneUserNotReady"], OWN, series, minute) is expected


def test_users_of_other_kinds_are_not_meant(engine, alerts):
    cluster = {**OWN, "kind": "MatrixOneCluster"}
    series = {condition("Ready", "SQLNotAnswered"): always(0)}
    assert not engine.fires(alerts["MatrixOneUserNotReady"], cluster, series, 70)


@pytest.mark.parametrize(
    ("reason", "value", "expected"),
    [
        ("Available", 1, False),
        ("DatabaseLost", 0, True),
        ("DatabaseExists", 0, True),
        ("SQLNotAnswered", -1, True),
        ("DependencyNotReady", 0, False),
        ("Deleting", 0, False),
    ],
)
def test_a_lost_database_is_told(engine, alerts, reason, value, expected):
    database = {**OWN, "kind": "Database"}
    series = {condition("Ready", reason): always(value)}
    for kind, is_meant in ((database, expected), (OWN, False)):
        assert engine.fires(alerts["MatrixOneDatabaseNotReady"], kind, series, 70) is is_meant


def test_alerts_have_a_page_to_follow(alerts):
    assert list(alerts) == ["MatrixOneUserNotReady", "MatrixOneDatabaseNotReady"]
    assert without_page(alerts) == []
