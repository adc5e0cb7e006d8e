# SPDX-License-Identifier: Apache-2.0
"""Writing the Secrets for applications: what they are made of, and whose a Secret is that is there."""

import base64
from typing import Any, cast

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    Session,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection import (
    Connection,
    Target,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection_writer import (
    is_in_place,
    write,
)

from tests.support import resources as r
from tests.support.answers import Answers, changed

Json = dict[str, Any]
OURS = {
    "matrixorigin.io/cluster": "mo",
    "app.kubernetes.io/managed-by": "matrixorigin.matrixone",
    "app.kubernetes.io/component": "connection",
}
NAME = "mo-connection"
PLAIN = Target(name=NAME, host="mo-proxy.prod.svc", holder="mo-log-headless")
TLS = Target(name=NAME, host="mo-proxy.prod.svc", holder="mo-log-headless", tls="mo-tls")


def secret(name: str, labels: Json | None = None, owner: Json | None = None, **texts: str) -> Json:
    metadata: Json = {"name": name, "namespace": "prod", "resourceVersion": "7", "uid": f"u-{name}"}
    metadata["labels"] = labels or {}
    metadata["ownerReferences"] = [owner] if owner else []
    data = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def cluster(uid: str = "u-1", **asked: Any) -> Json:
    made: Json = r.cluster(connectionSecret=asked)
    if uid:
        made["metadata"]["uid"] = uid
    return made


def brought(
    decided: Connection, *objects: Json, resource: Json | None = None
) -> tuple[list[tuple[bool | None, str]], Answers]:
    """Return what became of each, and what was asked and written."""
    subject = resource or cluster()
    session = Answers(*objects, subject)
    writer = Writer(cast("Session", session), owner=subject)
    found = list(write(writer, subject, decided))
    return [(one.exists, one.problem) for one in found], session


def texts(session: Answers) -> dict[str, str]:
    ((_method, _path, body),) = session.written
    return {key: base64.b64decode(value).decode() for key, value in body["data"].items()}


ROOT = secret("mo-credential", username="dump", password="desired")
BY_US = {"app.kubernetes.io/managed-by": "matrixorigin.matrixone"}
ACCEPTED = secret("mo-credential-accepted", BY_US, username="dump", password="accepted")
SHOP = secret("shop", username="shop", password="its-own")
CERTIFICATE = secret("mo-tls", **{"tls.crt": "leaf\n", "tls.key": "hidden"})
AUTHORITY = secret("mo-tls", **{"tls.crt": "leaf\n", "ca.crt": "authority\n", "tls.key": "hidden"})
BY_USER = cluster(userSecretRef={"name": "shop"})


@pytest.mark.parametrize(
    ("resource", "target", "objects", "expected"),
    [
        (cluster(), PLAIN, [ROOT], {"username": "dump", "password": "desired"}),
        (cluster(), PLAIN, [ROOT, ACCEPTED], {"username": "dump", "password": "accepted"}),
        (BY_USER, PLAIN, [ROOT, ACCEPTED, SHOP], {"username": "shop", "password": "its-own"}),
        (cluster(), TLS, [ROOT, CERTIFICATE], {"ca.crt": "leaf\n"}),
        (cluster(), TLS, [ROOT, AUTHORITY], {"ca.crt": "authority\n"}),
    ],
    ids=["new", "accepted", "user", "certificate", "authority"],
)
def test_what_it_is_made_of(resource, target, objects, expected):
    told, session = brought(Connection(targets=[target]), *objects, resource=resource)
    assert told == [(True, "")]
    found = texts(session)
    assert {key: found[key] for key in expected} == expected
    assert "hidden" not in str(found)


@pytest.mark.parametrize(
    ("resource", "target", "objects", "problem"),
    [
        (cluster(), PLAIN, [], "the root credential does not exist"),
        (
            BY_USER,
            PLAIN,
            [ROOT],
            "waiting for Secret shop, which spec.connectionSecret.userSecretRef names",
        ),
        (cluster(), TLS, [ROOT], "waiting for Secret mo-tls, which spec.tls.secretRef names"),
        (
            cluster(),
            TLS,
            [ROOT, secret("mo-tls")],
            "Secret mo-tls, which spec.tls.secretRef names, has no tls.crt",
        ),
        (
            cluster(),
            PLAIN,
            [secret("mo-credential", username="dump", password="hidden\n")],
            "Secret mo-credential: password has a character beyond printable ASCII, such as a line break at its end",
        ),
    ],
    ids=["no credential", "no user", "no Secret for TLS", "no certificate", "no password"],
)
def test_what_is_not_known_leaves_it_as_it_is(resource, target, objects, problem):
    """Whether it exists is then as it was before."""
    told, session = brought(Connection(targets=[target]), *objects, resource=resource)
    assert told == [(None, problem)]
    assert session.written == []
    writer = Writer(cast("Session", session), owner=resource)
    assert not is_in_place(writer, resource, Connection(targets=[target]))


FOREIGN = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u-9", "controller": True}
MINE = {**FOREIGN, "kind": "MatrixOneCluster", "name": "mo", "uid": "u-1"}


@pytest.mark.parametrize(
    ("live", "is_ours"),
    [
        (secret(NAME, OURS, MINE), True),
        (secret(NAME, OURS), True),
        (secret(NAME, {}, MINE), True),
        (secret(NAME), False),
        (secret(NAME, BY_US), False),
        (secret(NAME, {**OURS, "matrixorigin.io/cluster": "other"}), False),
        (secret(NAME, OURS, FOREIGN), False),
    ],
    ids=[
        *("ours", "left behind", "without labels", "no labels"),
        *("another of ours", "of another cluster", "of another controller"),
    ],
)
def test_a_secret_of_somebody_else_is_neither_changed_nor_given_up(live, is_ours):
    told, session = brought(Connection(targets=[PLAIN]), ROOT, live)
    assert [exists for exists, _problem in told] == [is_ours]
    assert bool(told[0][1]) is not is_ours
    assert changed(session.written) == ([f"PATCH {NAME}"] if is_ours else [])

    told, session = brought(Connection(obsolete=[NAME]), live)
    assert told == [(False, "")]
    assert changed(session.written) == ([f"PATCH {NAME}"] if is_ours else [])


def test_one_is_given_up_to_the_garbage_collector():
    """Operators may not delete Secrets; it is the very one that was looked at."""
    _told, session = brought(Connection(obsolete=[NAME]), secret(NAME, OURS, MINE))
    ((method, _path, body),) = session.written
    assert method == "PATCH"
    (owner,) = body["metadata"]["ownerReferences"]
    assert owner["uid"] == "00000000-0000-0000-0000-000000000000"
    assert body["metadata"]["resourceVersion"] == "7"


def test_one_that_cannot_be_written_does_not_hold_up_the_others():
    group = Target(name="mo-connection.tp", host="mo-tp-cn.prod.svc", holder="mo-tp-cn")
    told, session = brought(Connection(targets=[PLAIN, group]), ROOT, secret(NAME))
    assert [exists for exists, _problem in told] == [False, True]
    assert changed(session.written) == ["PATCH mo-connection.tp"]


@pytest.mark.parametrize("there", [True, False])
def test_without_a_resource_it_goes_with_a_service(there):
    place = {"name": PLAIN.holder, "namespace": "prod", "uid": "u-service"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": place}
    objects = [ROOT, service] if there else [ROOT]
    _told, session = brought(Connection(targets=[PLAIN]), *objects, resource=cluster(uid=""))
    ((_method, _path, body),) = session.written
    owner = {"apiVersion": "v1", "kind": "Service", "name": PLAIN.holder, "uid": "u-service"}
    assert body["metadata"].get("ownerReferences") == ([owner] if there else None)


def test_nothing_is_in_place_that_is_obsolete():
    writer = Writer(cast("Session", Answers()), owner=cluster())
    assert is_in_place(writer, cluster(), Connection())
    assert not is_in_place(writer, cluster(), Connection(obsolete=[NAME]))
