# SPDX-License-Identifier: Apache-2.0
"""BucketClaims under an operator on an API server, with a real S3 server.

The fake nodes end a Job's Pod at once; the test runs the program for the Job's task instead.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.owners import Owner
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks

from testbed import object_store
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from testbed.ports import choose_ports
from tests.backup.program.pods import Pods, bucket, keys_of
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

Json = dict[str, Any]
RAN = "bucket.matrixorigin.io/any-instance-running"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store.serving(tmp_path_factory.mktemp("s3")) as found:
        found.make_bucket("data")
        yield found


@pytest.fixture(scope="module")
def spaces(installed_testbed: TestBed) -> Iterator[tuple[Namespace, Namespace]]:
    with (
        installed_testbed.namespace("bucket-a") as one,
        installed_testbed.namespace("bucket-b") as two,
    ):
        yield Namespace(installed_testbed, one), Namespace(installed_testbed, two)


@pytest.fixture(scope="module")
def ending(installed_testbed: TestBed) -> Iterator[Namespace]:
    """A namespace that a test deletes."""
    with installed_testbed.namespace("bucket-c") as name:
        yield Namespace(installed_testbed, name)


@pytest.fixture(scope="module")
def operator(
    spaces: tuple[Namespace, Namespace],
    ending: Namespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Path]:
    folder, (one, two) = tmp_path_factory.mktemp("operator"), spaces
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    chosen = [watch for watch in watches if watch["kind"] in ("LogSet", "BucketClaim")]
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
    kubeconfig = account(one.bed, one.name, folder / "kubeconfig", everywhere=True)
    flags = (f"--watches-file={folder}/watches.yaml",)
    watched = {
        "WATCH_NAMESPACE": ",".join(space.name for space in (one, two, ending)),
        "OPERATOR_IMAGE": "operator:test",
    }
    with running_operator(kubeconfig, folder, *flags, **watched) as log:
        yield log
    assert refusals(log) == []


@pytest.fixture
def pods(server: ObjectStore, tmp_path: Path) -> Pods:
    return Pods(tmp_path, keys_of(server))


def log_set(name: str, server: ObjectStore, path: str, **s3: str) -> Json:
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "LogSet",
        "metadata": {"name": name},
        "spec": {
            "image": "matrixorigin/matrixone:1.3.0",
            "replicas": 1,
            "volume": {"size": "1Gi"},
            "sharedStorage": {
                "s3": {
                    "type": "minio",
                    "path": path,
                    "endpoint": server.endpoint,
                    "secretRef": {"name": "store"},
                    **s3,
                }
            },
        },
    }


def unreadable(server: ObjectStore, path: str) -> Json:
    """Return a claim that was stored before endpoints were checked."""
    s3 = log_set("", server, path)["spec"]["sharedStorage"]["s3"]
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BucketClaim",
        "metadata": {"name": "unreadable"},
        "spec": {"s3": {**s3, "endpoint": "http://minio.storage:99999 "}},
    }


def secret(space: Namespace, server: ObjectStore) -> None:
    space.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "store"},
            "stringData": keys_of(server),
        }
    )


def claim_of(space: Namespace, name: str) -> Json:
    """Return the BucketClaim of a LogSet; empty without one."""
    found: list[Json] = space.listed("bucketclaim", "")
    named = [one for one in found if one["spec"].get("logSetRef", {}).get("name") == name]
    return named[0] if named else {}


def state_of(space: Namespace, name: str) -> str:
    return str((claim_of(space, name).get("status") or {}).get("state") or "")


def fill(pods: Pods, server: ObjectStore, address: str) -> None:
    store = pods.store(bucket(server, address))
    for key in ("data/one", "etl/two"):
        store.write(key, [b"12345"], 5)


def objects(pods: Pods, server: ObjectStore, address: str) -> int:
    return len(list(pods.store(bucket(server, address)).entries()))


def mark(space: Namespace, pods: Pods, log_set: str, reason: tasks.Reason | None = None) -> str:
    """Run the program that marks the path of a LogSet; return the name of its claim."""
    eventually(lambda: claim_of(space, log_set), 240, "the claim")
    claim = str(claim_of(space, log_set)["metadata"]["name"])
    carry_out(space, pods, claim, reason, suffix="claim")
    return claim


def carry_out(
    space: Namespace,
    pods: Pods,
    claim: str,
    reason: tasks.Reason | None = None,
    suffix: str = "reclaim",
) -> None:
    """Run the program for the Job of a claim, and write the result as it does.

    It must fail for the reason, if there is one.
    """
    name = f"{claim}-{suffix}"
    eventually(lambda: space.get("job", name), 90, f"Job {name}")
    task = tasks.task_from_json(space.get("configmap", f"{name}-task")["data"]["task.json"])
    ended = pods.attempt(task)
    assert ended.result.reason == reason, ended
    result = replace(ended.result, started_at=datetime.now(UTC).isoformat())
    data = json.dumps({"data": {"result.json": tasks.result_to_json(result)}})
    space.kubectl("patch", "configmap", f"{name}-result", "--type=merge", "-p", data)


def test_the_life_of_a_path(
    spaces: tuple[Namespace, Namespace], operator: Path, server: ObjectStore, pods: Pods
) -> None:
    """Claimed, contested, deleted with the data, taken by who waited, released, purged."""
    one, two = spaces
    for space in spaces:
        secret(space, server)
    two.apply(unreadable(server, "data/mo/first"))
    eventually(
        lambda: two.condition("bucketclaim", "unreadable", "Synced").get("reason") == "InvalidSpec",
        240,
        "a claim that cannot be read says so",
    )
    one.apply(log_set("first", server, "data/mo/first"))
    mark(one, pods, "first")
    eventually(lambda: state_of(one, "first") == "InUse", 240, "the path is granted")
    assert objects(pods, server, "data/mo/first") == 1
    eventually(lambda: one.names("jobs") == set(), 60, "nothing is left of the Job")
    one.wait("Ready", "logset", "first", seconds=240)
    claim = claim_of(one, "first")
    assert "ownerReferences" not in claim["metadata"]
    name = claim["metadata"]["name"]
    assert claim["status"]["bindTo"] == f"{one.name}/first"
    row = one.kubectl("get", "bucket", name, "--no-headers").split()
    assert row[:5] == [name, "InUse", f"{one.name}/first", "data/mo/first", "Delete"]
    eventually(
        lambda: RAN in (claim_of(one, "first")["metadata"].get("annotations") or {}), 120, "it ran"
    )

    # A path around it, in another namespace: nothing is started there, and it says why.
    two.apply(log_set("second", server, "data/mo", s3RetentionPolicy="Retain"))
    eventually(lambda: state_of(two, "second") == "Pending", 240, "the path is contested")
    taken = f"data/mo/first belongs to LogSet {one.name}/first (BucketClaim {one.name}/{name})"
    eventually(
        lambda: taken in two.condition("logset", "second", "Synced").get("message", ""), 120, taken
    )
    assert two.names("statefulsets") == set()

    # A claim that cannot be read is in nobody's way, and goes when it is deleted.
    two.kubectl("delete", "bucketclaim", "unreadable", "--timeout=60s")

    # Nobody deletes what is in use.
    one.kubectl("delete", "bucket", name, "--wait=false")
    eventually(
        lambda: one.condition("bucketclaim", name, "Degraded").get("reason") == "InUse",
        60,
        "in use",
    )

    for address in ("data/mo/first", "data/mo/second", "data/other"):
        fill(pods, server, address)
    one.kubectl("delete", "logset", "first", "--timeout=180s")
    carry_out(one, pods, name)
    eventually(lambda: not one.get("bucketclaim", name), 120, "the claim is gone")
    assert objects(pods, server, "data/mo/first") == 0
    assert objects(pods, server, "data/mo/second") == 2

    # Who waited gets the path; it is kept at the end, and purged when somebody says so.
    mark(two, pods, "second")
    eventually(lambda: state_of(two, "second") == "InUse", 240, "the path is granted")
    two.wait("Ready", "logset", "second")
    eventually(
        lambda: RAN in (claim_of(two, "second")["metadata"].get("annotations") or {}), 120, "it ran"
    )
    two.kubectl("delete", "logset", "second", "--timeout=180s")
    eventually(lambda: state_of(two, "second") == "Released", 90, "released")
    assert objects(pods, server, "data/mo") == 3
    kept = claim_of(two, "second")["metadata"]["name"]
    purge = json.dumps({"spec": {"s3": {"s3RetentionPolicy": "Delete"}}})
    two.kubectl("patch", "bucket", kept, "--type=merge", "-p", purge)
    two.kubectl("delete", "bucket", kept, "--wait=false")
    carry_out(two, pods, kept)
    eventually(lambda: two.names("bucketclaims") == set(), 120, "purged")
    assert objects(pods, server, "data/mo") == 0
    assert objects(pods, server, "data/other") == 2


def released_claim(server: ObjectStore, name: str, path: str, **s3: str) -> Json:
    """Return a claim of a LogSet that is gone, whose data are to be deleted."""
    store = {"type": "minio", "endpoint": server.endpoint, "secretRef": {"name": "store"}}
    return {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BucketClaim",
        "metadata": {"name": name, "annotations": {RAN: "true"}},
        "spec": {"s3": {**store, "path": path, "s3RetentionPolicy": "Delete", **s3}},
    }


@pytest.mark.parametrize("reason", [tasks.Reason.ACCESS_DENIED, tasks.Reason.UNREACHABLE])
def test_a_store_that_rejects_and_one_that_is_not_there_are_told_apart(
    spaces: tuple[Namespace, Namespace],
    operator: Path,
    server: ObjectStore,
    tmp_path: Path,
    reason: tasks.Reason,
) -> None:
    """The claim says which, keeps the data, and goes without them when somebody says so."""
    space, name = spaces[0], f"fails-{reason.name.lower().replace('_', '-')}"
    secret(space, server)
    path = f"data/{name}"
    whole = Pods(tmp_path / "whole", keys_of(server))
    fill(whole, server, path)
    denied = reason is tasks.Reason.ACCESS_DENIED
    [closed] = choose_ports(["closed"], ()).values()
    endpoint = {} if denied else {"endpoint": f"http://127.0.0.1:{closed}"}
    keys = {**keys_of(server), **({"AWS_SECRET_ACCESS_KEY": "a-wrong-one"} if denied else {})}
    space.apply(released_claim(server, name, path, **endpoint))
    eventually(
        lambda: (space.get("bucket", name).get("status") or {}).get("state") == "Released",
        60,
        "released",
    )
    space.kubectl("delete", "bucket", name, "--wait=false")
    carry_out(space, Pods(tmp_path / "failing", keys), name, reason)
    eventually(
        lambda: space.condition("bucket", name, "Degraded").get("reason") == reason.value,
        60,
        f"the claim says {reason.value}",
        otherwise=lambda: space.get("bucket", name),
    )
    assert space.get("bucket", name)["status"]["state"] == "Deleting"
    space.annotate("bucket", name, **{"matrixorigin.io/release": "true"})
    eventually(lambda: not space.get("bucket", name), 60, "the claim is gone")
    assert objects(whole, server, path) == 2


def test_a_path_of_another_kubernetes_cluster(
    spaces: tuple[Namespace, Namespace], operator: Path, server: ObjectStore, pods: Pods
) -> None:
    """No database starts there until somebody says that it is the one to be continued."""
    space, path = spaces[1], "data/elsewhere"
    secret(space, server)
    owner = Owner("BucketClaim", "prod", "bucket-there", "uid-there")
    target = bucket(server, path)
    assert (
        pods.attempt(tasks.Task(tasks.Verb.CLAIM, owner.uid, owner=owner, target=target)).code == 0
    )
    space.apply(log_set("here", server, path, s3RetentionPolicy="Retain"))
    name = mark(space, pods, "here", tasks.Reason.TARGET_NOT_EMPTY)
    eventually(
        lambda: (
            "prod/bucket-there (uid-there" in space.condition("logset", "here", "Synced")["message"]
        ),
        120,
        "the LogSet says whose the path is",
    )
    assert space.condition("bucketclaim", name, "PathMarked")["reason"] == "PathTaken"
    assert space.names("statefulsets") == set()
    space.annotate("bucket", name, **{"bucket.matrixorigin.io/adopt": "uid-there"})
    eventually(lambda: not space.get("job", f"{name}-claim"), 60, "the Job is replaced")
    mark(space, pods, "here")
    space.wait("Ready", "logset", "here", seconds=240)
    assert claim_of(space, "here")["status"]["granted"]["mark"] == "uid-there"

    # What is kept is taken over by the next one.
    space.kubectl("delete", "logset", "here", "--timeout=180s")
    eventually(lambda: state_of(space, "here") == "Released", 90, "released")
    space.apply(log_set("next", server, path, s3RetentionPolicy="Retain"))
    follower = mark(space, pods, "next")
    space.wait("Ready", "logset", "next", seconds=240)
    assert claim_of(space, "next")["status"]["granted"]["mark"] == "uid-there"
    eventually(lambda: not space.get("bucket", name), 120, "the former claim goes")
    assert space.get("bucket", follower)


def test_a_namespace_that_is_deleted_with_its_database_ends(
    ending: Namespace, operator: Path, server: ObjectStore, pods: Pods
) -> None:
    """No Job can be created in it any more: the data stay, and nothing waits for them."""
    secret(ending, server)
    ending.apply(log_set("last", server, "data/last"))
    mark(ending, pods, "last")
    eventually(lambda: state_of(ending, "last") == "InUse", 240, "the path is granted")
    ending.wait("Ready", "logset", "last", seconds=240)
    eventually(
        lambda: RAN in (claim_of(ending, "last")["metadata"].get("annotations") or {}),
        120,
        "it ran",
    )
    fill(pods, server, "data/last")
    ending.kubectl("delete", "namespace", ending.name, "--timeout=240s")
    assert objects(pods, server, "data/last") == 3
