# SPDX-License-Identifier: Apache-2.0
"""DatabaseUsers on a screen, and whose password a session takes."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.sql import Login, managed_login
from kubectl_matrixone.terminal import Style
from kubectl_matrixone.users import lines, records, secret_of
from testbed.bed import TestBed
from tests.support.namespaces import install
from tests.support.plugin import Plugin

from .space import Space, tiny_cluster

GOLDEN = Path(__file__).parent / "golden"
Json = dict[str, Any]


def user(name: str, cluster: str = "mo", *, ready: str = "True", synced: str = "True") -> Json:
    states = {"Ready": ready, "Synced": synced}
    conditions = [
        {"type": kind, "status": state, "reason": "R", "message": ""}
        for kind, state in states.items()
    ]
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "DatabaseUser",
        "metadata": {"name": name},
        "spec": {"clusterRef": {"name": cluster}},
        "status": {
            "user": name,
            "conditions": conditions,
            "secretRef": {"name": f"{name}-user"},
            "granted": ["shop.*: Insert, Select"],
        },
    }


WAITING = user("late", synced="False")
WAITING["status"] |= {"granted": [], "message": "waiting for shop.* to exist"}
NEW: Json = {"metadata": {"name": "new"}, "spec": {"clusterRef": {"name": "mo"}, "name": "fresh"}}
OTHER = user("app", "other")
ALL = [WAITING, user("app"), NEW, OTHER]


def test_the_list_says_who_may_what_and_what_is_awaited(request: pytest.FixtureRequest) -> None:
    text = "\n".join((*lines(list(records(ALL, "")), Style()), ""))
    path = GOLDEN / "users.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text
    assert lines([], Style()) == ["no DatabaseUser is known"]


def test_what_has_no_status_yet_is_unknown() -> None:
    [found] = records([NEW], "mo")
    assert (found.user, found.ready, found.synced) == ("fresh", "Unknown", "Unknown")
    assert (found.secret, found.granted) == ("", ())


@pytest.mark.parametrize(
    ("cluster", "name", "expected"),
    [
        ("mo", "app", "app-user"),
        ("mo", "late", "late-user"),
        ("mo", "fresh", ""),
        ("mo", "root", ""),
        ("other", "late", ""),
    ],
)
def test_the_secret_is_that_of_the_user_of_this_cluster(
    cluster: str, name: str, expected: str
) -> None:
    assert secret_of(ALL, cluster, name) == expected


def test_a_login_that_does_not_succeed_is_not_taken() -> None:
    assert secret_of([user("app", ready="False")], "mo", "app") == ""


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Space]:
    install(fake_testbed)
    with fake_testbed.namespace("plugin-users") as namespace:
        made = Space(fake_testbed, namespace)
        made.apply(tiny_cluster("mo"))
        for one in (user("app"), user("broken"), user("alone")):
            status = one.pop("status")
            made.apply(one, status)
        for name, data in (("app", {"password": "p'w"}), ("broken", {"other": "x"})):
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{name}-user"}}
            made.apply({**secret, "stringData": data})
        yield made


@pytest.mark.api
def test_users_are_listed(space: Space, plugin: Plugin) -> None:
    here = ("mo", "-n", space.name)
    heads, *rows = plugin("users", *here).stdout.splitlines()
    assert heads.split() == ["USER", "CLUSTER", "READY", "SYNCED", "SECRET", "MAY"]
    assert [row.split()[0] for row in rows] == ["alone", "app", "broken"]
    assert plugin("users", "other", "-n", space.name).stdout == "no DatabaseUser is known\n"
    names = [f"databaseuser/{name}" for name in ("alone", "app", "broken")]
    assert plugin("users", *here, "-o", "name").stdout.splitlines() == names
    [first, *_rest] = records([user("alone")], "")
    expected = {**dataclasses.asdict(first), "granted": list(first.granted)}
    assert yaml.safe_load(plugin("users", *here, "-o", "yaml").stdout)[0] == expected
    assert json.loads(plugin("users", *here, "-o", "json").stdout)[0] == expected


@pytest.mark.api
def test_the_password_of_a_managed_user_is_read(space: Space) -> None:
    options = (f"--kubeconfig={space.bed.kubeconfig}",)
    kubectl = Kubectl(options, space.name, str(space.bed.kubectl_path))
    assert managed_login(kubectl, "mo", "app") == Login("app", "p'w")
    assert managed_login(kubectl, "mo", "nobody") is None
    assert managed_login(kubectl, "mo", "alone") is None, "its Secret does not exist"
    with pytest.raises(PluginError, match="Secret broken-user has no usable"):
        managed_login(kubectl, "mo", "broken")
