# SPDX-License-Identifier: Apache-2.0
"""The Secrets that tell applications how to connect, on fake nodes: made, followed, given up."""

import base64
import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.connection import (
    resolve_options,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    open_session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection import (
    decide,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection_writer import (
    is_in_place,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)

from tests.support.certificates import Authority
from tests.support.namespaces import Namespace
from tests.support.waiting import eventually

from .conftest import tiny_cluster

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

Json = dict[str, Any]
SECRET, GROUP = "mo-connection", "mo-connection.tp"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def read(space: Namespace, name: str) -> dict[str, str]:
    """Return what a Secret holds; empty if there is none."""
    data = space.get("secret", name).get("data") or {}
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def secret(name: str, **texts: str) -> Json:
    data = {key: encoded(value) for key, value in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def look(space: Namespace, why: str) -> None:
    """Have the operator look now, as it does twice a minute."""
    space.annotate("mo", "mo", look=why)


@pytest.fixture(scope="module")
def cluster(space: Namespace, operator: Path) -> Iterator[Json]:
    resource = tiny_cluster(space.name)
    resource["spec"]["logService"]["replicas"] = 1
    resource["spec"]["connectionSecret"] = {}
    groups = resource["spec"]["cnGroups"]
    groups.append({**groups[0], "name": "ap"})
    space.apply(resource)
    space.wait("Ready")
    space.wait("Synced")
    yield resource
    names = [name for name in space.names("secret") if "mo-connection" in name]
    space.kubectl("delete", "mo", "--all", "--timeout=120s")
    assert names
    eventually(lambda: not [one for one in space.names("secret") if "mo-connection" in one])


def test_applications_find_all_in_one(space, cluster):
    """The cluster's leads to the proxy, each group's to the compute nodes."""
    root = read(space, "mo-credential")
    found = read(space, SECRET)
    host = f"mo-proxy.{space.name}.svc"
    login = f"{root['username']}:{root['password']}"
    assert found["uri"] == f"mysql://{login}@{host}:6001/"
    assert {key: found[key] for key in ("type", "host", "port")} == {
        "type": "mysql",
        "host": host,
        "port": "6001",
    }
    assert read(space, GROUP)["host"] == f"mo-tp-cn.{space.name}.svc"
    live = space.get("secret", SECRET)
    assert live["type"] == "servicebinding.io/mysql"
    assert [one["kind"] for one in live["metadata"]["ownerReferences"]] == ["MatrixOneCluster"]
    status = space.get("mo", "mo")["status"]
    assert status["binding"] == {"name": SECRET}
    assert status["connectionSecrets"] == [SECRET, "mo-connection.ap", GROUP]


def test_what_is_in_place_needs_no_pass(space, cluster):
    """The check before a pass compares the Secrets with what they are made of."""
    eventually(lambda: checked(space))


def checked(space: Namespace) -> bool:
    """Return whether the check finds nothing to do for the Secrets."""
    session = open_session(resolve_options({"kubeconfig": space.bed.kubeconfig}, {}))
    resource = space.get("mo", "mo")
    children = render_matrixonecluster(resource)
    decided = decide(
        resource, {"self": resource, "proxySet": space.get("proxyset", "mo")}, children
    )
    return is_in_place(Writer(session, dry_run=True, owner=resource), resource, decided)


def test_what_is_changed_by_hand_is_reverted(space, cluster):
    before = read(space, SECRET)
    space.patch("secret", SECRET, {"data": {"host": encoded("elsewhere")}})
    look(space, "after a change by hand")
    eventually(lambda: read(space, SECRET) == before)
    space.kubectl("delete", "secret", SECRET)
    look(space, "after a deletion by hand")
    eventually(lambda: read(space, SECRET) == before)


def test_it_has_the_password_that_the_database_accepts(space, cluster):
    """No database answers here: another password of the root credential is not in effect."""
    before = read(space, SECRET)
    credential = read(space, "mo-credential")["password"]
    space.patch("secret", "mo-credential", {"data": {"password": encoded("not-in-effect")}})
    look(space, "after a change of the credential")
    eventually(
        lambda: space.condition("mo", "mo", "Synced").get("reason") == "CredentialNotApplied"
    )
    assert read(space, SECRET) == before

    try:
        accepted = {"data": {"password": encoded("in-effect/@:?")}}
        space.patch("secret", "mo-credential-accepted", accepted)
        look(space, "after a rotation")
        eventually(lambda: read(space, SECRET)["password"] == "in-effect/@:?")
        # One is written after the other.
        eventually(lambda: "in-effect%2F%40%3A%3F@" in read(space, GROUP)["uri"])
    finally:
        for name in ("mo-credential", "mo-credential-accepted"):
            space.patch("secret", name, {"data": {"password": encoded(credential)}})
    look(space, "after both are as before")
    eventually(lambda: read(space, SECRET) == before)
    space.wait("Synced")


def test_a_user_of_the_application(space, cluster):
    """It is waited for; the Secrets stay as they are until it is there, and follow it then."""
    before = read(space, SECRET)
    asked = {"userSecretRef": {"name": "shop"}, "database": "orders"}
    space.patch("mo", "mo", {"spec": {"connectionSecret": asked}})
    told = eventually(
        lambda: (
            (found := space.condition("mo", "mo", "Synced")).get("reason")
            == "ConnectionSecretNotApplied"
            and found
        )
    )
    assert told["message"] == (
        "waiting for Secret shop, which spec.connectionSecret.userSecretRef names"
    )
    assert space.condition("mo", "mo", "Ready")["status"] == "True"
    assert read(space, SECRET) == before

    space.apply(secret("shop", username="shop", password="first"))
    eventually(lambda: read(space, SECRET).get("username") == "shop")
    space.wait("Synced")
    assert read(space, SECRET)["go-dsn"].endswith(f"@tcp(mo-proxy.{space.name}.svc:6001)/orders")

    # Secrets are read twice a minute: nobody has to tell the operator.
    space.patch("secret", "shop", {"data": {"password": encoded("second")}})
    eventually(lambda: read(space, SECRET)["password"] == "second", 60)
    eventually(lambda: read(space, GROUP)["password"] == "second")


def test_it_follows_tls(space, cluster):
    authority = Authority()
    data = {**authority.secret(), "ca.crt": encoded("authority\n")}
    space.apply({**secret("mo-tls"), "type": "kubernetes.io/tls", "data": data})
    space.patch("mo", "mo", {"spec": {"tls": {"secretRef": {"name": "mo-tls"}}}})
    eventually(lambda: read(space, SECRET).get("ca.crt") == "authority\n")
    found = read(space, SECRET)
    assert found["ssl-mode"] == "VERIFY_IDENTITY"
    assert found["uri"].endswith("?ssl-mode=VERIFY_IDENTITY")
    assert "tls.key" not in found
    assert "ca.crt" not in read(space, GROUP)

    space.patch("mo", "mo", {"spec": {"tls": None}})
    eventually(lambda: "ca.crt" not in read(space, SECRET))
    assert "ssl-mode" not in read(space, SECRET)


def test_it_waits_for_no_window_and_not_until_the_cluster_wakes(space, cluster):
    """What is asleep can be connected to later; a window is for what replaces Pods."""
    opens = datetime.now(UTC) + timedelta(hours=11)
    windows = [{"start": f"{opens:%M %H} * * *", "duration": "2m"}]
    asleep = {"hibernation": {"asleep": True}, "maintenance": {"windows": windows}}
    space.patch("mo", "mo", {"spec": asleep})
    eventually(
        lambda: space.get("mo", "mo")["status"].get("hibernation", {}).get("state") == "Asleep", 90
    )
    assert read(space, SECRET)["password"] == "second"

    space.patch("mo", "mo", {"spec": {"tls": {"secretRef": {"name": "mo-tls"}}}})
    space.patch("secret", "shop", {"data": {"password": encoded("third")}})
    space.kubectl("delete", "secret", GROUP)
    look(space, "while it sleeps")
    eventually(lambda: read(space, SECRET)["password"] == "third")
    eventually(lambda: read(space, GROUP).get("password") == "third")
    # Proxies have no certificate before the window opens.
    assert "ca.crt" not in read(space, SECRET)

    space.patch("mo", "mo", {"spec": {"hibernation": None, "maintenance": None, "tls": None}})
    space.wait("Ready")
    space.wait("Synced")


def test_it_goes_with_its_group(space, cluster):
    groups = cluster["spec"]["cnGroups"]
    space.patch("mo", "mo", {"spec": {"cnGroups": groups[:1]}})
    eventually(lambda: not space.get("secret", "mo-connection.ap"))
    eventually(lambda: space.get("mo", "mo")["status"]["connectionSecrets"] == [SECRET, GROUP])
    assert read(space, SECRET)


def test_a_secret_of_somebody_else_is_left_alone(space, cluster):
    """All go with the field; what has the name by then is neither changed nor deleted."""
    space.patch("mo", "mo", {"spec": {"connectionSecret": None}})
    eventually(lambda: not space.get("secret", SECRET) and not space.get("secret", GROUP))
    eventually(lambda: "binding" not in space.get("mo", "mo")["status"])
    space.wait("Synced")

    foreign = secret(SECRET, mine="of-somebody-else")
    space.apply(foreign)
    version = space.get("secret", SECRET)["metadata"]["resourceVersion"]
    space.patch("mo", "mo", {"spec": {"connectionSecret": {}}})
    told = eventually(
        lambda: (
            (found := space.condition("mo", "mo", "Synced")).get("reason")
            == "ConnectionSecretNotApplied"
            and found
        )
    )
    assert f"Secret {space.name}/{SECRET}: an object of this name exists" in told["message"]
    assert read(space, GROUP)
    eventually(lambda: space.get("mo", "mo")["status"].get("connectionSecrets") == [GROUP])
    assert "binding" not in space.get("mo", "mo")["status"]
    warned = [one for one in space.events() if one["reason"] == "ConnectionSecretNotApplied"]
    assert warned
    assert {one["type"] for one in warned} == {"Warning"}

    space.patch("mo", "mo", {"spec": {"connectionSecret": None}})
    eventually(lambda: not space.get("secret", GROUP))
    assert space.get("secret", SECRET)["metadata"]["resourceVersion"] == version
    space.kubectl("delete", "secret", SECRET)

    space.patch("mo", "mo", {"spec": {"connectionSecret": {}}})
    eventually(lambda: read(space, SECRET).get("type") == "mysql")
    space.wait("Synced")


def texts_below(folder: Path) -> Iterator[str]:
    """Yield what the operator has written so far; it deletes old artifacts meanwhile."""
    for path, _folders, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(FileNotFoundError):
                yield (Path(path) / name).read_text(errors="ignore")


def test_nothing_of_them_is_told(space, cluster, operator):
    """No password is in a status, an Event, or what the operator writes."""
    written = list(texts_below(operator.parent))
    told = space.kubectl("get", "mo,cnset,proxyset,events.events.k8s.io", "-o", "json")
    root = read(space, "mo-credential")["password"]
    assert root == read(space, SECRET)["password"]
    assert [text for text in written if SECRET in text]
    for word in (root, encoded(root), "not-in-effect", "in-effect/@", "of-somebody-else"):
        assert word not in told
        assert not [text for text in written if word in text]


def test_by_a_playbook(play_cluster, fake_testbed, fake_namespace, objects):
    """It goes with the Service that it leads to, or with the field."""
    space = Namespace(fake_testbed, fake_namespace)
    resource = tiny_cluster(fake_namespace)
    resource["spec"]["logService"]["replicas"] = 1
    resource["spec"]["connectionSecret"] = {"userSecretRef": {"name": "shop"}}
    space.apply(secret("shop", username="shop", password="playbook-secret"))
    foreign = secret(SECRET, mine="of-somebody-else")
    space.apply(foreign)

    refused = play_cluster(resource)
    assert refused.code != 0
    assert "an object of this name exists" in refused.output
    assert set(read(space, SECRET)) == {"mine"}
    space.kubectl("delete", "secret", SECRET)

    up = play_cluster(resource, "--diff", "-vvv")
    assert up.code == 0, up.output
    assert f"Secret {fake_namespace}/{SECRET} created" in up.output
    for word in ("playbook-secret", encoded("playbook-secret")):
        assert word not in up.output + refused.output
    assert read(space, SECRET)["username"] == "shop"
    (owner,) = space.get("secret", GROUP)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("Service", "mo-tp-cn")
    assert play_cluster(resource).counts["changed"] == 0

    del resource["spec"]["connectionSecret"]
    without = play_cluster(resource)
    assert without.code == 0, without.output
    eventually(lambda: not [name for name in objects() if "mo-connection" in name])

    resource["spec"]["connectionSecret"] = {}
    again = play_cluster(resource)
    assert again.code == 0, again.output
    assert read(space, SECRET)["password"] == read(space, "mo-credential")["password"]
    gone = play_cluster(resource, state="absent")
    assert gone.code == 0, gone.output
    eventually(lambda: not [name for name in objects() if "mo-connection" in name])


def test_nothing_is_made_in_check_mode(play_cluster, fake_namespace, objects):
    resource = tiny_cluster(fake_namespace)
    resource["spec"]["connectionSecret"] = {}
    checked = play_cluster(resource, "--check", "--diff")
    assert checked.code == 0, checked.output
    assert objects() == set()
