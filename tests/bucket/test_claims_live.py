# SPDX-License-Identifier: Apache-2.0
"""BucketClaims under an operator on an API server, with a real S3 server.

The fake nodes end a Job's Pod at once; the test runs the program for the Job's task instead.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import tasks

from testbed import object_store
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.backup.program.pods import Pods, bucket, keys_of
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account, refusals
from tests.support.operators import running_operator
from tests.support.places import ROOT
from tests.support.waiting import eventually

pytestmark = [pytest.mark.api, pytest.mark.timeout(600)]

Json = dict[str, Any]


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
def operator(
    spaces: tuple[Namespace, Namespace], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    folder, (one, two) = tmp_path_factory.mktemp("operator"), spaces
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    chosen = [watch for watch in watches if watch["kind"] in ("LogSet", "BucketClaim")]
    (folder / "watches.yaml").write_text(yaml.safe_dump(chosen))
    kubeconfig = account(one.bed, one.name, folder / "kubeconfig", everywhere=True)
    flags = (f"--watches-file={folder}/watches.yaml",)
    watched = {"WATCH_NAMESPACE": f"{one.name},{two.name}", "OPERATOR_IMAGE": "operator:test"}
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


def carry_out(space: Namespace, pods: Pods, claim: str) -> None:
    """Run the program for the Job of a claim, and write the result as it does."""
    name = f"{claim}-reclaim"
    eventually(lambda: space.get("job", name), 90, f"Job {name}")
    task = tasks.task_from_json(space.get("configmap", f"{name}-task")["data"]["task.json"])
    ended = pods.attempt(task)
    assert ended.code == 0, ended
    data = json.dumps({"data": {"result.json": tasks.result_to_json(ended.result)}})
    space.kubectl("patch", "configmap", f"{name}-result", "--type=merge", "-p", data)


def test_the_life_of_a_path(
    spaces: tuple[Namespace, Namespace], operator: Path, server: ObjectStore, pods: Pods
) -> None:
    """Claimed, contested, deleted with the data, taken by who waited, released, purged."""
    one, two = spaces
    for space in spaces:
        secret(space, server)
    one.apply(log_set("first", server, "data/mo/first"))
    eventually(lambda: state_of(one, "first") == "InUse", 240, "the path is granted")
    one.wait("Ready", "logset", "first", seconds=240)
    claim = claim_of(one, "first")
    assert "ownerReferences" not in claim["metadata"]
    name = claim["metadata"]["name"]
    assert claim["status"]["bindTo"] == f"{one.name}/first"
    row = one.kubectl("get", "bucket", name, "--no-headers").split()
    assert row[:5] == [name, "InUse", f"{one.name}/first", "data/mo/first", "Delete"]
    ran = "bucket.matrixorigin.io/any-instance-running"
    eventually(
        lambda: ran in (claim_of(one, "first")["metadata"].get("annotations") or {}), 120, "it ran"
    )

    # A path around it, in another namespace: nothing is started there, and it says why.
    two.apply(log_set("second", server, "data/mo", s3RetentionPolicy="Retain"))
    eventually(lambda: state_of(two, "second") == "Pending", 240, "the path is contested")
    taken = f"data/mo/first belongs to LogSet {one.name}/first (BucketClaim {one.name}/{name})"
    eventually(
        lambda: taken in two.condition("logset", "second", "Synced").get("message", ""), 120, taken
    )
    assert two.names("statefulsets") == set()

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
    eventually(lambda: state_of(two, "second") == "InUse", 240, "the path is granted")
    two.wait("Ready", "logset", "second")
    eventually(
        lambda: ran in (claim_of(two, "second")["metadata"].get("annotations") or {}), 120, "it ran"
    )
    two.kubectl("delete", "logset", "second", "--timeout=180s")
    eventually(lambda: state_of(two, "second") == "Released", 90, "released")
    assert objects(pods, server, "data/mo") == 2
    kept = claim_of(two, "second")["metadata"]["name"]
    purge = json.dumps({"spec": {"s3": {"s3RetentionPolicy": "Delete"}}})
    two.kubectl("patch", "bucket", kept, "--type=merge", "-p", purge)
    two.kubectl("delete", "bucket", kept, "--wait=false")
    carry_out(two, pods, kept)
    eventually(lambda: two.names("bucketclaims") == set(), 120, "purged")
    assert objects(pods, server, "data/mo") == 0
    assert objects(pods, server, "data/other") == 2
