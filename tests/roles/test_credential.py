# SPDX-License-Identifier: Apache-2.0
"""The root credential of a cluster on fake nodes, where no database answers."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = pytest.mark.api

ACCEPTED = "mo-credential-accepted"


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: object) -> Iterator[dict[str, Any]]:
    resource = tiny_cluster(space.name)
    resource["spec"]["webui"] = {"replicas": 1}
    space.apply(resource)
    space.wait("Ready")
    space.wait("Ready", "webui")  # it does not count for the cluster
    yield resource
    space.kubectl("delete", "mo", "--all", "--timeout=120s")
    eventually(lambda: f"secret/{ACCEPTED}" not in space.names("secret"))


def change(space: Namespace, password: str) -> None:
    """Change the password as a user does, and have the operator look."""
    data = {"password": base64.b64encode(password.encode()).decode()}
    space.kubectl("patch", "secret", "mo-credential", "-p", json.dumps({"data": data}))
    version = space.get("secret", "mo-credential")["metadata"]["resourceVersion"]
    space.kubectl("annotate", "mo", "mo", "--overwrite", f"look={version}")


def synced(space: Namespace, reason: str, text: str) -> dict[str, Any]:
    """Return the condition when it has a reason, and a text in its message."""
    said = space.condition("mo", "mo", "Synced")
    return said if said.get("reason") == reason and text in said["message"] else {}


def test_what_the_database_begins_with_is_on_record(space, cluster):
    """It belongs to the cluster and is told nowhere else."""
    given, record = (
        eventually(lambda n=n: space.get("secret", n)) for n in ("mo-credential", ACCEPTED)
    )

    assert record["data"] == given["data"]
    assert [one["name"] for one in record["metadata"]["ownerReferences"]] == ["mo"]
    # It serves before its last component says that it is up to date.
    space.wait("Synced")


def test_a_record_that_is_missing_is_made_and_nothing_else_happens(space, cluster):
    """As after an upgrade from an operator that had none."""
    before = space.names("pods")
    space.kubectl("delete", "secret", ACCEPTED)
    space.kubectl("annotate", "mo", "mo", "--overwrite", "look=again")

    record = eventually(lambda: space.get("secret", ACCEPTED))

    assert record["data"] == space.get("secret", "mo-credential")["data"]
    assert space.names("pods") == before
    assert space.condition("mo", "mo", "Synced")["status"] == "True"


@pytest.mark.parametrize(
    ("password", "told"),
    [("another-1", "cannot be reached"), ("typed\n", "printable ASCII"), ("", "password is empty")],
)
def test_a_password_that_cannot_be_changed_is_told_and_taken_back(space, cluster, password, told):
    """The record keeps what the database accepts; the cluster serves on."""
    given, record = space.get("secret", "mo-credential"), space.get("secret", ACCEPTED)

    change(space, password)
    said = eventually(lambda: synced(space, "CredentialNotApplied", told))
    assert "Secret mo-credential" in said["message"]
    assert space.get("secret", ACCEPTED)["data"] == record["data"]
    assert space.condition("mo", "mo", "Ready")["status"] == "True"
    text = space.kubectl("get", "mo,events.events.k8s.io", "-o", "json")
    assert not password or json.dumps(password)[1:-1] not in text

    change(space, base64.b64decode(given["data"]["password"]).decode())
    space.wait("Synced")


def test_the_dashboard_is_not_fought_over(space, cluster):
    """What makes its Pods anew after a change is a note that its own passes leave alone."""
    space.wait("Synced", "webui")
    note = {"matrixorigin.io/credential-version": "8"}
    patch = {"spec": {"template": {"metadata": {"annotations": note}}}}
    space.kubectl(
        *("patch", "deployment", "mo-webui", "--type=merge", "-p", json.dumps(patch)),
        "--field-manager=matrixone-operator",
    )

    space.kubectl("patch", "mo", "mo", "--type=merge", "-p", '{"spec":{"webui":{"replicas":2}}}')
    eventually(lambda: space.get("deployment", "mo-webui")["spec"]["replicas"] == 2)
    space.wait("Synced", "webui")

    template = space.get("deployment", "mo-webui")["spec"]["template"]
    assert template["metadata"]["annotations"].items() >= note.items()
