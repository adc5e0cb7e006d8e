# SPDX-License-Identifier: Apache-2.0
"""DatabaseUsers and Databases under an operator on an API server. No database answers there.

What is said to a database, and what comes of it, tests/e2e/test_database_users.py shows.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp_now,
)

from testbed.bed import KubectlError, TestBed
from tests.support import resources as r
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

Json = dict[str, Any]
KINDS = ("DatabaseUser", "Database")

each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Namespace]:
    with installed_testbed.namespace("users") as name:
        yield Namespace(installed_testbed, name)


@pytest.fixture(scope="module", autouse=True)
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An operator of these kinds alone: what becomes of clusters, the tests decide."""
    folder = tmp_path_factory.mktemp("operator")
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    chosen = [watch for watch in watches if watch["kind"] in KINDS]
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
    flags = (f"--watches-file={folder}/watches.yaml",)
    with running_operator(kubeconfig, folder, *flags, WATCH_NAMESPACE=space.name) as log:
        yield log
    assert refusals(log) == []


def one(kind: str, resource: str, **spec: Any) -> Json:
    return {
        "apiVersion": r.API_VERSION,
        "kind": kind,
        "metadata": {"name": resource},
        "spec": {"clusterRef": {"name": "mo"}, **spec},
    }


def said(space: Namespace, kind: str, name: str, condition: str) -> tuple[str, str]:
    found = space.conditions(kind, name).get(condition) or {}
    return str(found.get("status")), str(found.get("reason"))


def delete(space: Namespace, kind: str, name: str) -> None:
    """Delete an object; its end is not waited for."""
    space.kubectl("delete", kind, name, "--wait=false")


def await_said(
    space: Namespace, kind: str, name: str, condition: str, wanted: tuple[str, str]
) -> None:
    eventually(
        lambda: said(space, kind, name, condition) == wanted,
        60,
        f"{condition} {wanted} of {kind} {name}",
        otherwise=lambda: space.get(kind, name),
    )


@each_kind
def test_a_cluster_is_waited_for_and_no_deletion_is(space: Namespace, kind: str) -> None:
    space.apply(one(kind, "early"))
    space.apply(one(kind, "dropped", deletionPolicy="Delete"))
    for name in ("early", "dropped"):
        await_said(space, kind, name, "Ready", ("False", "DependencyNotReady"))
        delete(space, kind, name)
    eventually(lambda: not space.listed(kind), 60, f"end of all {kind}")


@each_kind
def test_two_resources_of_one_name(space: Namespace, kind: str) -> None:
    space.apply(one(kind, "one", name="both"))
    await_said(space, kind, "one", "Ready", ("False", "DependencyNotReady"))
    created = space.get(kind, "one")["metadata"]["creationTimestamp"]
    eventually(lambda: timestamp_now() > created, 5, "another second")
    space.apply(one(kind, "two", name="both"))
    await_said(space, kind, "two", "Synced", ("False", "NameTaken"))
    delete(space, kind, "one")
    await_said(space, kind, "two", "Synced", ("False", "DependencyNotReady"))
    delete(space, kind, "two")


def test_a_database_that_does_not_answer(space: Namespace) -> None:
    """The Secret is there by then; all wait, and so does their end, until the cluster goes."""
    serving(space)
    for kind in KINDS:
        space.apply(one(kind, "shop", deletionPolicy="Delete"))
    for kind in KINDS:
        await_said(space, kind, "shop", "Ready", ("Unknown", "SQLNotAnswered"))
    secret = space.get("secret", "shop-user")
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert (data["username"], len(data["password"])) == ("shop", 32)
    assert [owner["kind"] for owner in secret["metadata"]["ownerReferences"]] == ["DatabaseUser"]

    space.apply(one("DatabaseUser", "named", passwordSecretRef={"name": "absent"}))
    await_said(space, "DatabaseUser", "named", "Ready", ("False", "SecretMissing"))

    for kind in KINDS:
        delete(space, kind, "shop")
        await_said(space, kind, "shop", "Ready", ("False", "Deleting"))
        assert "cannot be reached" in space.get(kind, "shop")["status"]["message"]
    delete(space, "mo", "mo")
    for kind in KINDS:
        eventually(lambda kind=kind: not space.get(kind, "shop"), 90, f"end of {kind} shop")


def serving(space: Namespace) -> None:
    """Create a cluster that says that it serves, and what leads to it."""
    cluster = r.cluster(proxy={"replicas": 1})
    del cluster["metadata"]["namespace"]
    space.apply(cluster)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "AllSetsReady",
        "lastTransitionTime": "2026-11-22T18:00:00Z",
    }
    patch = json.dumps({"status": {"conditions": [ready]}})
    space.kubectl("patch", "mo", "mo", "--subresource=status", "--type=merge", "-p", patch)
    login = {key: base64.b64encode(b"root").decode() for key in ("username", "password")}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mo-credential"}}
    space.apply({**secret, "data": login})
    port = {"port": 6001, "targetPort": 6001}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "mo-proxy"}}
    space.apply({**service, "spec": {"ports": [port]}})


CHANGES = {
    "clusterRef": {"clusterRef": {"name": "other"}},
    "name": {"name": "other"},
    "name given": {"name": "fixed"},
}


@each_kind
@pytest.mark.parametrize("spec", CHANGES.values(), ids=CHANGES)
def test_what_cannot_be_changed(space: Namespace, kind: str, spec: Json) -> None:
    space.apply(one(kind, "fixed"))
    change = json.dumps({"spec": spec})
    with pytest.raises(KubectlError, match="cannot be changed"):
        space.kubectl("patch", kind, "fixed", "--type=merge", "-p", change)
