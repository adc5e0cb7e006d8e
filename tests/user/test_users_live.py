# SPDX-License-Identifier: Apache-2.0
"""DatabaseUsers under an operator on an API server. No database answers there.

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
KIND = "databaseuser"


@pytest.fixture(scope="module")
def space(installed_testbed: TestBed) -> Iterator[Namespace]:
    with installed_testbed.namespace("users") as name:
        yield Namespace(installed_testbed, name)


@pytest.fixture(scope="module", autouse=True)
def operator(space: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An operator of users alone: what becomes of clusters, the tests decide."""
    folder = tmp_path_factory.mktemp("operator")
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    chosen = [watch for watch in watches if watch["kind"] == "DatabaseUser"]
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
    kubeconfig = account(space.bed, space.name, folder / "kubeconfig", everywhere=True)
    flags = (f"--watches-file={folder}/watches.yaml",)
    with running_operator(kubeconfig, folder, *flags, WATCH_NAMESPACE=space.name) as log:
        yield log
    assert refusals(log) == []


def user(resource: str, **spec: Any) -> Json:
    return {
        "apiVersion": r.API_VERSION,
        "kind": "DatabaseUser",
        "metadata": {"name": resource},
        "spec": {"clusterRef": {"name": "mo"}, **spec},
    }


def said(space: Namespace, name: str, kind: str) -> tuple[str, str]:
    found = space.conditions(KIND, name).get(kind) or {}
    return str(found.get("status")), str(found.get("reason"))


def delete(space: Namespace, kind: str, name: str) -> None:
    """Delete an object; its end is not waited for."""
    space.kubectl("delete", kind, name, "--wait=false")


def await_said(space: Namespace, name: str, kind: str, wanted: tuple[str, str]) -> None:
    eventually(
        lambda: said(space, name, kind) == wanted,
        60,
        f"{kind} {wanted} of {name}",
        otherwise=lambda: space.get(KIND, name),
    )


def test_a_cluster_is_waited_for_and_no_deletion_is(space: Namespace) -> None:
    space.apply(user("early"))
    space.apply(user("dropped", deletionPolicy="Delete"))
    for name in ("early", "dropped"):
        await_said(space, name, "Ready", ("False", "DependencyNotReady"))
        delete(space, KIND, name)
    eventually(lambda: not space.listed(KIND), 60, "end of the users")


def test_two_resources_of_one_user(space: Namespace) -> None:
    space.apply(user("one", name="both"))
    await_said(space, "one", "Ready", ("False", "DependencyNotReady"))
    created = space.get(KIND, "one")["metadata"]["creationTimestamp"]
    eventually(lambda: timestamp_now() > created, 5, "another second")
    space.apply(user("two", name="both"))
    await_said(space, "two", "Synced", ("False", "NameTaken"))
    delete(space, KIND, "one")
    await_said(space, "two", "Synced", ("False", "DependencyNotReady"))
    delete(space, KIND, "two")


def test_a_database_that_does_not_answer(space: Namespace) -> None:
    """The Secret is there by then; the user waits, and so does its end, until the cluster goes."""
    serving(space)
    space.apply(user("shop", deletionPolicy="Delete"))
    await_said(space, "shop", "Ready", ("Unknown", "SQLNotAnswered"))
    secret = space.get("secret", "shop-user")
    data = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    assert (data["username"], len(data["password"])) == ("shop", 32)
    assert [one["kind"] for one in secret["metadata"]["ownerReferences"]] == ["DatabaseUser"]

    space.apply(user("named", passwordSecretRef={"name": "absent"}))
    await_said(space, "named", "Ready", ("False", "SecretMissing"))

    delete(space, KIND, "shop")
    await_said(space, "shop", "Ready", ("False", "Deleting"))
    assert "cannot be reached" in space.get(KIND, "shop")["status"]["message"]
    delete(space, "mo", "mo")
    eventually(lambda: not space.get(KIND, "shop"), 90, "end of the user")


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


@pytest.mark.parametrize("spec", CHANGES.values(), ids=CHANGES)
def test_what_cannot_be_changed(space: Namespace, spec: Json) -> None:
    space.apply(user("fixed"))
    change = json.dumps({"spec": spec})
    with pytest.raises(KubectlError, match="cannot be changed"):
        space.kubectl("patch", KIND, "fixed", "--type=merge", "-p", change)
