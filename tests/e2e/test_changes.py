# SPDX-License-Identifier: Apache-2.0
"""A cluster is changed under traffic, again and again: no acknowledged row is lost."""

import base64
import json
import re
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
import pytest

import testbed
from testbed import database
from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, operated, tiny_cluster
from tests.e2e.log_stores import old_log_stores
from tests.e2e.traffic import Traffic
from tests.support.examples import later, reaches
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
]

EVERYTHING = ("LogSet", "DNSet", "CNSet", "ProxySet")
CONNECTIONS = ("mo-connection", "mo-connection.tp")
ROLL_SECONDS = 300.0
# There is one transaction node: nobody can write while it is replaced, and clients of a proxy that
# goes have to connect again.
LONGEST_GAP = 60.0
ERRORS = 400


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Compute nodes drain, volumes stay when the cluster goes."""
    folder = tmp_path_factory.mktemp("operator")
    present = database.chosen()
    newer = replace(present, tag=later(1))
    testbed.tag_image(present.reference, newer.reference, real_testbed.name)
    with operated(real_testbed, folder, _resource(), "changes") as made:
        yield made


def _resource() -> dict[str, Any]:
    resource = tiny_cluster()
    spec = resource["spec"]
    spec["metricReaderEnabled"] = True
    spec["connectionSecret"] = {}
    spec["logService"]["pvcRetentionPolicy"] = "Retain"
    spec["cnGroups"][0]["terminationPolicy"] = "Drain"
    spec["cnGroups"][0]["scalingConfig"] = {
        "storeDrainEnabled": True,
        "storeDrainTimeout": "1m",
        "minDelaySeconds": 5,
    }
    for part in (spec["logService"], spec["tn"], spec["cnGroups"][0], spec["proxy"]):
        part["config"] = '[log]\nlevel = "info"\n'
    return resource


def born(cluster: Cluster, kind: str) -> list[str]:
    """Return when the Pods of a kind were created, oldest first."""
    return sorted(pod["metadata"]["creationTimestamp"] for pod in cluster.pods(kind).values())


def uids(cluster: Cluster, *kinds: str) -> set[str]:
    return {pod["metadata"]["uid"] for kind in kinds for pod in cluster.pods(kind).values()}


def await_settled(cluster: Cluster, seconds: float = ROLL_SECONDS) -> None:
    """Wait as a user would: what was asked for is applied everywhere, and serves."""
    for condition in ("Synced", "Ready"):
        cluster.kubectl(
            "wait", f"--for=condition={condition}", "mo/mo", f"--timeout={seconds:.0f}s"
        )


def replacements(cluster: Cluster) -> list[str]:
    """Return the notes about replaced log stores, in order."""
    items = cluster.get("events.events.k8s.io")["items"]
    chosen = [
        one
        for one in items
        if one["reason"] == "ReplacingPods" and one["regarding"]["kind"] == "LogSet"
    ]
    return [one["note"] for one in sorted(chosen, key=lambda one: str(one["eventTime"]))]


def await_end_of(cluster: Cluster, before: set[str]) -> None:
    """Wait until no Pod of before is left: while a compute node drains, the cluster says so."""
    cluster.kubectl("wait", "--for=condition=Progressing=False", "mo/mo", "--timeout=120s")
    eventually(lambda: not before & uids(cluster, *EVERYTHING), 60, "end of the old Pods")


def require_order(cluster: Cluster) -> None:
    """Log stores one after the other, then the transaction node, then the compute node."""
    log = born(cluster, "LogSet")
    assert all(later > earlier for earlier, later in pairwise(log)), log
    assert log[-1] <= born(cluster, "DNSet")[0]
    assert born(cluster, "DNSet")[-1] <= born(cluster, "CNSet")[-1]
    assert log[-1] <= born(cluster, "ProxySet")[-1]


def rows_of_metrics(cluster: Cluster, password: str) -> int:
    """Return how many metrics the metric user finds; the role goes with the name."""
    entrance = {**cluster.entrance, "user": "sys:mo_operator:metric_reader", "password": password}
    session = pymysql.connect(**entrance, connect_timeout=15, read_timeout=15)
    with session, session.cursor() as cursor:
        cursor.execute("select count(*) from system_metrics.metric")
        found = cursor.fetchone()
        return int(found[0]) if found else 0


def test_the_metric_user_has_the_password_of_its_secret(cluster: Cluster) -> None:
    """It appears when SQL answers; another password in the Secret becomes its password."""
    eventually(lambda: _metrics(cluster).get("initialized") is True, 60, "metric user")
    username, given = login(cluster, "mo-metric")
    assert username == "mo_operator"
    assert rows_of_metrics(cluster, given) >= 0

    other = f'it\'s "{secrets.token_hex(8)}"'
    change = {"data": {"password": base64.b64encode(other.encode()).decode()}}
    cluster.patch("secret", "mo-metric", change)
    await_password(cluster, "changed")
    assert rows_of_metrics(cluster, other) >= 0
    with pytest.raises(pymysql.MySQLError):
        rows_of_metrics(cluster, given)


def test_a_lost_secret_of_the_metric_user_is_made_anew(cluster: Cluster) -> None:
    """Its password is another one then, and the only one."""
    _, lost = login(cluster, "mo-metric")
    cluster.kubectl("delete", "secret", "mo-metric")
    await_password(cluster, "lost")
    _, given = login(cluster, "mo-metric")
    assert given != lost
    assert rows_of_metrics(cluster, given) >= 0
    with pytest.raises(pymysql.MySQLError):
        rows_of_metrics(cluster, lost)


def test_the_root_user_gets_the_password_of_its_secret(cluster: Cluster) -> None:
    """The one of before is refused, whatever its user; sessions stay, and no Pod is replaced."""
    eventually(lambda: "mo-credential-accepted" in secret_names(cluster), 60, "record")
    username, old = login(cluster, "mo-credential")
    before = uids(cluster, *EVERYTHING)
    new = f'it\'s "{secrets.token_hex(8)}" \\ `%s` --'

    with cluster.connect() as session, session.cursor() as cursor:
        give_root(cluster, new)
        cursor.execute("select 1")

    for user in ("dump", "root"):
        require_login(cluster, user, new)
        with pytest.raises(pymysql.MySQLError):
            require_login(cluster, user, old)
    assert login(cluster, "mo-credential-accepted") == (username, new)
    assert rows_of_metrics(cluster, login(cluster, "mo-metric")[1]) >= 0
    assert uids(cluster, *EVERYTHING) == before
    assert any(one["reason"] == "CredentialChanged" for one in events(cluster))

    text = json.dumps([cluster.operator.artifacts(), cluster.operator.log.read_text()])
    assert not any(password in text for password in (old, new, json.dumps(new)[1:-1]))
    compute = next(iter(cluster.pods("CNSet")))
    cluster.kubectl("delete", "pod", compute)
    eventually(lambda: compute not in cluster.pods("CNSet"), 60, "end of the compute node")
    cluster.await_ready()
    cluster.forget_entrance()
    cluster.connect().close()


RULES = {
    "validate_password": "on",
    "validate_password.policy": "1",
    "validate_password.length": "16",
    "validate_password.mixed_case_count": "2",
    "validate_password.number_count": "2",
    "validate_password.special_char_count": "2",
    "password_history": "3",
}


@pytest.mark.skipif(not reaches(2, 0, 1), reason="this MatrixOne has no rules for passwords")
def test_a_root_password_that_breaks_a_rule_is_refused_without_a_word_of_it(
    cluster: Cluster,
) -> None:
    """The one of before stays valid; generated ones comply, also that of the metric user."""
    eventually(lambda: "mo-credential-accepted" in secret_names(cluster), 60, "record")
    username, old = login(cluster, "mo-credential")
    with cluster.connect() as session, session.cursor() as cursor:
        for name, value in RULES.items():
            cursor.execute(f"set global {name} = {value}")
    try:
        weak = f"Ab1-{secrets.token_hex(3)}"
        set_password(cluster, weak)
        eventually(lambda: _unsynced(cluster, "validate_password.length"), 90, "the rule")
        status = json.dumps(cluster.get("mo", "mo")["status"])
        assert "is too short, require at least 16 characters" in status
        text = [status, cluster.operator.artifacts(), cluster.operator.log.read_text()]
        assert not any(weak in one for one in text)
        require_login(cluster, username, old)
        assert login(cluster, "mo-credential-accepted") == (username, old)
        cluster.kubectl("delete", "secret", "mo-metric", "mo-credential")
        eventually(lambda: _is_synced(cluster, old), 120, "generated passwords")
        cluster.forget_entrance()
        rows_of_metrics(cluster, login(cluster, "mo-metric")[1])
    finally:
        cluster.forget_entrance()
        with cluster.connect() as session, session.cursor() as cursor:
            cursor.execute("set global validate_password = off")
            cursor.execute("set global password_history = 0")


def _is_synced(cluster: Cluster, old: str) -> bool:
    names = secret_names(cluster)
    if not {"mo-credential", "mo-metric"} <= names:
        return False
    given = login(cluster, "mo-credential")
    metrics = cluster.get("mo", "mo")["status"].get("clusterMetrics") or {}
    accepted = login(cluster, "mo-credential-accepted")
    return given == accepted and given[1] != old and bool(metrics.get("initialized"))


def test_a_root_password_that_is_changed_behind_the_secret_is_told(cluster: Cluster) -> None:
    """Nothing is lost: the Secret takes the one that the database accepts."""
    behind, wrong = secrets.token_hex(8), secrets.token_hex(8)
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("alter user 'dump' identified by %s", (behind,))

    set_password(cluster, wrong)
    eventually(lambda: _unsynced(cluster, "accepts neither"), 60, "word of it")
    assert cluster.condition("mo", "mo", "Ready")["status"] == "True"

    give_root(cluster, behind)
    cluster.forget_entrance()
    cluster.connect().close()
    assert login(cluster, "mo-credential-accepted")[1] == behind


def test_the_metric_user_follows_after_the_root_user(cluster: Cluster) -> None:
    """Its own password is changed with the one that the root user has now."""
    other = secrets.token_hex(8)
    change = {"data": {"password": base64.b64encode(other.encode()).decode()}}
    cluster.patch("secret", "mo-metric", change)
    await_password(cluster, "after-root")
    assert rows_of_metrics(cluster, other) >= 0


def test_applications_log_in_by_their_secret(cluster: Cluster) -> None:
    """Through the proxy, and past it; the Secrets follow the root user's password."""
    eventually(lambda: set(CONNECTIONS) <= secret_names(cluster), 60, "connection Secrets")
    for name in CONNECTIONS:
        connect_by(cluster, name)

    other = f"a/b@c:d?e#f&g=h {secrets.token_hex(8)}"
    give_root(cluster, other)
    for name in CONNECTIONS:
        assert login(cluster, name)[1] == other
        connect_by(cluster, name)
    cluster.forget_entrance()


def connect_by(cluster: Cluster, secret: str) -> None:
    """Log in with nothing but the URI in a Secret; names are known in the cluster only."""
    data = cluster.get("secret", secret)["data"]
    found = urlsplit(base64.b64decode(data["uri"]).decode())
    assert found.hostname
    service = found.hostname.partition(".")[0]
    session = pymysql.connect(
        host=cluster.get("service", service)["spec"]["clusterIP"],
        port=found.port or 0,
        user=unquote(found.username or ""),
        password=unquote(found.password or ""),
        connect_timeout=15,
        read_timeout=15,
    )
    with session, session.cursor() as cursor:
        cursor.execute("select 1")
        assert cursor.fetchone() == (1,)


def set_password(cluster: Cluster, password: str) -> str:
    """Change the root password as a user does, have the operator look, return the version."""
    change = {"data": {"password": base64.b64encode(password.encode()).decode()}}
    cluster.patch("secret", "mo-credential", change)
    version = str(cluster.get("secret", "mo-credential")["metadata"]["resourceVersion"])
    cluster.kubectl("annotate", "mo", "mo", "--overwrite", f"look={version}")
    return version


def give_root(cluster: Cluster, password: str) -> None:
    """Change the root password and wait until the database has it."""
    version = set_password(cluster, password)

    def recorded() -> bool:
        metadata = cluster.get("secret", "mo-credential-accepted")["metadata"]
        return bool(metadata["annotations"]["matrixorigin.io/credential-version"] == version)

    eventually(recorded, 60, "new root password")
    await_settled(cluster)


def require_login(cluster: Cluster, user: str, password: str) -> None:
    entrance = {**cluster.entrance, "user": user, "password": password}
    pymysql.connect(**entrance, connect_timeout=15, read_timeout=15).close()


def secret_names(cluster: Cluster) -> set[str]:
    return {one["metadata"]["name"] for one in cluster.get("secrets")["items"]}


def events(cluster: Cluster) -> list[dict[str, Any]]:
    return list(cluster.get("events.events.k8s.io")["items"])


def _unsynced(cluster: Cluster, text: str) -> bool:
    said = cluster.condition("mo", "mo", "Synced")
    return said["reason"] == "CredentialNotApplied" and text in said["message"]


def test_passwords_are_told_nowhere(cluster: Cluster) -> None:
    """Neither by the operator and its runs, nor in the cluster, nor by the database."""
    artifacts = cluster.operator.artifacts()
    assert "Create the SQL user that may read the metrics tables" in artifacts
    places = {
        "artifacts of runs": artifacts,
        "log of the operator": cluster.operator.log.read_text(),
        "resources": cluster.kubectl("get", "mo,logset,dnset,cnset,proxyset,all,cm", "-o", "json"),
        "events": cluster.kubectl("get", "events.events.k8s.io", "-o", "json"),
    }
    for pod in (name for kind in EVERYTHING for name in cluster.pods(kind)):
        places[f"log of {pod}"] = cluster.kubectl("logs", pod, "--all-containers")
    for secret in ("mo-credential", "mo-metric", *CONNECTIONS):
        _, password = login(cluster, secret)
        assert [place for place, text in places.items() if password in text] == [], secret


def login(cluster: Cluster, secret: str) -> tuple[str, str]:
    """Return the user and the password in a Secret."""
    data = cluster.get("secret", secret)["data"]
    username, password = (base64.b64decode(data[key]).decode() for key in ("username", "password"))
    return username, password


def await_password(cluster: Cluster, why: str) -> None:
    """Have the operator look, which no change of a Secret does, until it has told the database."""
    before = _metrics(cluster)["secretVersion"]
    cluster.kubectl("annotate", "mo", "mo", "--overwrite", f"look={why}")
    eventually(
        lambda: _metrics(cluster)["secretVersion"] != before and _metrics(cluster)["initialized"],
        *(60, "new password"),
    )


def _metrics(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.get("mo", "mo").get("status", {}).get("clusterMetrics", {}))


def test_a_change_of_configuration_rolls_in_order(cluster: Cluster) -> None:
    before = uids(cluster, *EVERYTHING)
    with old_log_stores(cluster), Traffic(cluster, "config-roll") as traffic:
        time.sleep(3)
        parts = ("logService", "tn", "cnGroups/0", "proxy")
        changes = [
            {"op": "replace", "path": f"/spec/{part}/config", "value": '[log]\nlevel = "debug"\n'}
            for part in parts
        ]
        cluster.kubectl("patch", "mo", "mo", "--type=json", "-p", json.dumps(changes))
        await_settled(cluster)
        time.sleep(3)
    traffic.require_nothing_lost(longest=LONGEST_GAP, errors=ERRORS)
    await_end_of(cluster, before)
    require_order(cluster)
    assert [note.partition(";")[2] for note in replacements(cluster)] == [
        " 2 more to replace",
        " 1 more to replace",
        "",
    ]


def test_another_image_rolls_though_the_operator_dies_meanwhile(cluster: Cluster) -> None:
    before, replaced = uids(cluster, *EVERYTHING), len(replacements(cluster))
    with Traffic(cluster, "image-roll-operator-killed") as traffic:
        time.sleep(3)
        cluster.patch("mo", "mo", {"spec": {"version": later(1)}})
        eventually(
            lambda: len(replacements(cluster)) > replaced, 60, "first replaced log store", pause=0.3
        )
        cluster.operator.end(signal.SIGKILL)
        time.sleep(5)
        cluster.operator.start()
        await_settled(cluster)
        time.sleep(3)
    traffic.require_nothing_lost(longest=LONGEST_GAP, errors=ERRORS)
    await_end_of(cluster, before)
    require_order(cluster)
    eventually(lambda: cluster.get("mo", "mo")["status"]["version"] == later(1), 30, "its version")


def test_an_image_that_cannot_be_pulled_replaces_no_pod(cluster: Cluster) -> None:
    """The node of the first log store tries to pull it while the store serves on."""
    version = cluster.get("mo", "mo")["spec"]["version"]
    before = uids(cluster, "LogSet", "DNSet", "CNSet", "ProxySet")
    with Traffic(cluster, "bad-image-corrected") as traffic:
        time.sleep(3)
        cluster.patch("mo", "mo", {"spec": {"version": later(2)}})
        eventually(lambda: _degraded(cluster, "ImagePullBackOff"), 90, "word of the image")
        time.sleep(5)
        assert sum(map(_is_ready, cluster.pods("LogSet").values())) == 3
        cluster.patch("mo", "mo", {"spec": {"version": version}})
        await_settled(cluster)
    traffic.require_nothing_lost(longest=10)
    assert uids(cluster, "LogSet", "DNSet", "CNSet", "ProxySet") == before


def test_a_bad_configuration_stops_at_the_first_pod(cluster: Cluster) -> None:
    """MatrixOne itself refuses it; the condition tells how it ended."""
    others = uids(cluster, "DNSet", "CNSet", "ProxySet")
    with Traffic(cluster, "bad-config-corrected") as traffic:
        time.sleep(3)
        cluster.change("logService/config", '[log]\nlevel = "nonsense"\n')
        eventually(lambda: _degraded(cluster, "ended with exit code"), 120, "word of the exit code")
        assert sum(map(_is_ready, cluster.pods("LogSet").values())) == 2
        cluster.change("logService/config", '[log]\nlevel = "info"\n')
        await_settled(cluster)
    traffic.require_nothing_lost(longest=30)
    assert uids(cluster, "DNSet", "CNSet", "ProxySet") == others


def _degraded(cluster: Cluster, text: str) -> bool:
    said = cluster.condition("mo", "mo", "Degraded")
    return said["status"] == "True" and text in said["message"]


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def test_volumes_grow_and_nobody_notices(cluster: Cluster) -> None:
    before = uids(cluster, "LogSet", "DNSet", "CNSet", "ProxySet")
    with Traffic(cluster, "volumes-grow") as traffic:
        time.sleep(3)
        cluster.change("logService/volume/size", "2Gi")
        await_settled(cluster)
        time.sleep(3)
    traffic.require_nothing_lost(longest=10)
    assert uids(cluster, "LogSet", "DNSet", "CNSet", "ProxySet") == before
    sizes = {
        one["metadata"]["name"]: one["status"]["capacity"]["storage"]
        for one in cluster.get("pvc")["items"]
    }
    assert {size for name, size in sizes.items() if name.startswith("mo-data-")} == {"2Gi"}


def delete_beside_a_transaction(cluster: Cluster) -> set[int]:
    """Delete the cluster while a client is at work; return the rows that it was told are stored.

    Compute nodes drain at their end (terminationPolicy): the client finishes what it has begun.
    """
    rows = {-1, -2}
    with cluster.connect() as session, session.cursor() as cursor:
        cursor.execute("begin")
        cursor.execute("insert into traffic.rows_seen values (-1)")
        cluster.kubectl("delete", "mo", "mo", "--wait=false")
        eventually(
            lambda: bool(re.search(r"draining mo-tp-cn-\S+ until \S+ .*1 session", told(cluster))),
            60,
            "word of the session that is waited for",
            otherwise=lambda: told(cluster),
        )
        time.sleep(5)
        cursor.execute("insert into traffic.rows_seen values (-2)")
        cursor.execute("commit")
    cluster.kubectl("wait", "--for=delete", "mo/mo", "--timeout=240s")
    return rows


def told(cluster: Cluster) -> str:
    """Return what the cluster's status says is under way."""
    return str(cluster.get("mo", "mo")["status"]["message"])


def test_data_outlive_the_cluster_when_its_volumes_are_kept(cluster: Cluster) -> None:
    """The same resource, made again, finds its rows and opens them with the same password."""
    with Traffic(cluster, "before-deletion") as traffic:
        time.sleep(5)
    resource = cluster.get("mo", "mo")
    written = traffic.acknowledged | delete_beside_a_transaction(cluster)
    assert uids(cluster, "LogSet", "DNSet", "CNSet", "ProxySet") == set()
    kept = {one["metadata"]["name"] for one in cluster.get("pvc")["items"]}
    assert kept == {"mo-data-mo-log-0", "mo-data-mo-log-1", "mo-data-mo-log-2", "mo-shared"}

    again = {key: resource[key] for key in ("apiVersion", "kind", "spec")}
    again["metadata"] = {"name": "mo"}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(again))
    cluster.await_ready()

    cluster.forget_entrance()
    assert written <= Traffic(cluster, "after-deletion").stored()
