# SPDX-License-Identifier: Apache-2.0
"""Databases on a screen."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_matrixone.databases import lines, records
from kubectl_matrixone.terminal import Style
from testbed.bed import TestBed
from tests.support.namespaces import install
from tests.support.plugin import Plugin

from .space import Space

GOLDEN = Path(__file__).parent / "golden" / "databases.txt"
Json = dict[str, Any]


def database(name: str, cluster: str = "mo", *, ready: str = "True", **spec: str) -> Json:
    conditions = [
        {"type": kind, "status": state, "reason": "R", "message": ""}
        for kind, state in (("Ready", ready), ("Synced", ready))
    ]
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "Database",
        "metadata": {"name": name},
        "spec": {"clusterRef": {"name": cluster}, **spec},
        "status": {"database": name, "id": "272515", "conditions": conditions},
    }


LOST = database("lost", ready="False", deletionPolicy="Delete")
LOST["status"] |= {"message": "database lost with number 272515 is not there any more"}
NEW: Json = {"metadata": {"name": "new"}, "spec": {"clusterRef": {"name": "mo"}, "name": "fresh"}}
ALL = [LOST, database("shop"), NEW, database("shop", "other")]


def test_the_list_says_what_is_there_and_what_is_wrong(request: pytest.FixtureRequest) -> None:
    text = "\n".join((*lines(list(records(ALL, "")), Style()), ""))
    if request.config.getoption("--regenerate-golden", default=False):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text
    assert lines([], Style()) == ["no Database is known"]


def test_what_has_no_status_yet_is_unknown() -> None:
    [found] = records([NEW], "mo")
    assert (found.database, found.ready, found.synced, found.id) == (
        "fresh",
        "Unknown",
        "Unknown",
        "",
    )
    assert found.policy == "Retain"


@pytest.mark.api
def test_databases_are_listed(fake_testbed: TestBed, plugin: Plugin) -> None:
    install(fake_testbed)
    with fake_testbed.namespace("plugin-databases") as namespace:
        space, shop = Space(fake_testbed, namespace), database("shop")
        space.apply(shop, shop.pop("status"))
        here = ("-n", namespace)
        heads, row = plugin("databases", "mo", *here).stdout.splitlines()
        assert heads.split() == ["DATABASE", "CLUSTER", "READY", "SYNCED", "ID", "POLICY"]
        assert row.split() == ["shop", "mo", "True", "True", "272515", "Retain"]
        assert plugin("databases", "other", *here).stdout == "no Database is known\n"
        assert plugin("databases", *here, "-o", "name").stdout == "database/shop\n"
        [expected] = records([database("shop")], "")
        shown = json.loads(plugin("databases", *here, "-o", "json").stdout)
        assert shown == [dataclasses.asdict(expected)]
