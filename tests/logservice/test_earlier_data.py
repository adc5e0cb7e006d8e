"""Volumes that were kept know where their data are; no other storage is used with them."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.claims import (
    storage_of,
)

from tests.support import resources as r
from tests.support.builders import workload
from tests.support.passes import plan_of, removal_of, report_on

Json = dict[str, Any]
STORAGE = "logset.matrixorigin.io/shared-storage"
GRANTED = {"metadata": {"name": "bucket-u-2"}, "status": {"state": "InUse"}}
VOLUME = {"persistentVolumeClaim": {"claimName": "shared"}}


def claim(ordinal: int, storage: str | None, **more: Any) -> Json:
    annotations = {} if storage is None else {STORAGE: storage}
    name = f"mo-data-mo-log-{ordinal}"
    metadata = {"name": name, "namespace": "prod", "uid": f"c-{ordinal}", "resourceVersion": "7"}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "annotations": annotations, **more},
        "spec": {"resources": {"requests": {"storage": "10Gi"}}},
    }


def log_set(path: str = "bucket/mo", **spec: Any) -> Json:
    made = r.logset(sharedStorage={"s3": {"path": path}}, **spec)
    made["metadata"]["uid"] = "u-2"
    members = [{"ordinal": ordinal, "replicaId": 131072 + ordinal} for ordinal in range(3)]
    made["metadata"]["annotations"] = {"logset.matrixorigin.io/bootstrap": json.dumps(members)}
    return made


def running() -> Json:
    made = workload(name="mo-log")
    template = {"metadata": {"name": "mo-data"}, "spec": claim(0, None)["spec"]}
    made["spec"]["volumeClaimTemplates"] = [template]
    return made


def in_folder(**files: Any) -> Json:
    made = log_set()
    made["spec"]["sharedStorage"] = {"fileSystem": {"path": "/shared", **files}}
    return made


@pytest.mark.parametrize(
    ("made", "storage"),
    [
        pytest.param(log_set("bucket/mo"), "s3://bucket/mo", id="a prefix in a bucket"),
        pytest.param(log_set("/bucket/mo/"), "s3://bucket/mo", id="slashes around it"),
        pytest.param(log_set("bucket"), "s3://bucket/", id="a whole bucket"),
        pytest.param(in_folder(), "file:///shared", id="a folder that is mounted otherwise"),
        pytest.param(in_folder(claim={"size": "9Gi"}), "file:///shared", id="in a claim"),
        pytest.param(
            in_folder(volume=VOLUME),
            'file:///shared {"persistentVolumeClaim":{"claimName":"shared"}}',
            id="in a volume",
        ),
    ],
)
def test_the_storage_is_recorded_on_the_claims(made: Json, storage: str) -> None:
    """An operator records it in each pass; what is recorded once is not written again."""
    seen = {"self": made, "workload": running(), "claims": [claim(0, None)]}
    seen |= {"bucket": r.GRANTED}

    (mark,) = plan_of(made, seen)["patches"]

    assert storage_of(made) == storage
    assert mark["metadata"]["annotations"][STORAGE] == storage
    marked = claim(0, None, annotations=mark["metadata"]["annotations"])
    assert plan_of(made, {**seen, "claims": [marked]})["patches"] == []


@pytest.mark.parametrize(
    ("made", "claims", "refused"),
    [
        pytest.param(log_set(), [], False, id="no claims"),
        pytest.param(log_set(), [claim(0, None)], False, id="claims without a record"),
        pytest.param(log_set(), [claim(0, "s3://bucket/mo")], False, id="the same path"),
        pytest.param(
            log_set(), [claim(0, None), claim(1, "s3://bucket/old")], True, id="another path"
        ),
        pytest.param(log_set(), [claim(0, "s3://bucket/")], True, id="a path above"),
        pytest.param(log_set(), [claim(0, "file:///shared")], True, id="another kind of storage"),
        pytest.param(
            log_set(),
            [claim(0, "s3://bucket/old", deletionTimestamp="2026-11-29T08:00:00Z")],
            False,
            id="of a claim that is going",
        ),
        pytest.param(
            log_set(),
            [claim(0, "s3://bucket/old", name="mo-data-more-log-0")],
            False,
            id="of another LogSet",
        ),
        pytest.param(in_folder(), [claim(0, "file:///shared")], False, id="the same folder"),
        pytest.param(
            in_folder(volume=VOLUME), [claim(0, "file:///shared")], True, id="another volume"
        ),
    ],
)
def test_no_log_is_used_beside_the_data_of_another(
    made: Json, claims: list[Json], refused: bool
) -> None:
    plan = plan_of(made, {"self": made, "claims": claims})

    assert bool(plan["invalid"]) is refused
    assert bool(plan["objects"]) is not refused
    assert not (refused and plan["records"]), "no BucketClaim takes the path meanwhile"


def test_the_refusal_says_what_to_do_and_is_looked_at_again() -> None:
    made = log_set()
    seen = {"self": made, "claims": [claim(n, "s3://bucket/old") for n in range(3)]}

    plan = plan_of(made, seen)
    told = report_on(made, plan, seen, {}, "", "2026-11-29T08:00:00Z")

    assert plan["invalid"] == (
        "spec.sharedStorage: the volumes of log stores of an earlier database are there "
        "(mo-data-mo-log-0, …), whose data are in s3://bucket/old; to go on with it, use that "
        "storage; for an empty database, delete these PersistentVolumeClaims or choose another "
        "name; if you have moved the data yourself, remove the annotation "
        f"{STORAGE} from each"
    )
    assert told["requeue"] == "30s"


def test_a_log_service_that_runs_may_get_its_volume_under_another_address() -> None:
    made = in_folder(volume=VOLUME)
    seen = {"self": made, "workload": running(), "claims": [claim(0, "file:///old")]}

    plan = plan_of(made, seen)

    assert not plan["invalid"]
    assert storage_of(made) in str(plan["patches"])


@pytest.mark.parametrize(
    ("policy", "recorded"), [("Retain", ["s3://bucket/mo"]), ("Delete", [])], ids=str
)
def test_a_playbook_records_it_when_it_deletes_the_log_service_only(
    policy: str, recorded: list[str]
) -> None:
    """It is played once, and a second run finds nothing to change."""
    made = log_set(pvcRetentionPolicy=policy)
    del made["metadata"]["uid"], made["metadata"]["annotations"]
    seen = {"workload": running(), "claims": [claim(0, None)]}

    assert plan_of(made, seen)["patches"] == []
    patches = removal_of(made, seen)[0]["patches"]
    found = [one["metadata"]["annotations"].get(STORAGE) for one in patches]
    assert [one for one in found if one] == recorded


BEFORE, CREATED, AFTER = (f"2026-11-29T0{hour}:00:00Z" for hour in (7, 8, 9))


def deleted(**more: Any) -> Json:
    made = log_set("bucket/typo", **more)
    made["metadata"] |= {"creationTimestamp": CREATED, "deletionTimestamp": AFTER}
    return made


@pytest.mark.parametrize(
    ("seen", "status", "goes"),
    [
        pytest.param({"claims": [BEFORE]}, {}, False, id="it found them, and never started"),
        pytest.param({"claims": [AFTER, BEFORE]}, {}, False, id="one of them"),
        pytest.param({"claims": [AFTER]}, {}, True, id="they are younger"),
        pytest.param({"claims": []}, {}, True, id="there are none"),
        pytest.param({"claims": [BEFORE], "workload": running()}, {}, True, id="it runs on them"),
        pytest.param({"claims": [BEFORE]}, {"lastReplicas": 3}, True, id="it ran on them"),
    ],
)
def test_who_never_used_volumes_does_not_delete_them(seen: Json, status: Json, goes: bool) -> None:
    """The policy of its spec, Delete, is about its own data."""
    made = {**deleted(), "status": status}
    claims = [
        claim(n, "s3://bucket/mo", creationTimestamp=at) for n, at in enumerate(seen["claims"])
    ]

    step, bucket = removal_of(made, {"self": made, "bucket": GRANTED, **seen, "claims": claims})

    assert ("PersistentVolumeClaim" in str(step["prune"])) is goes
    assert bool(bucket["objects"]) is goes
    assert not any(STORAGE in str(one) for one in step["patches"]), "what is recorded stays"


@pytest.mark.parametrize(
    ("recorded", "patched"), [(None, ["s3://bucket/typo"]), ("s3://bucket/mo", [])], ids=str
)
def test_a_playbook_does_not_overwrite_what_is_recorded(
    recorded: str | None, patched: list[str]
) -> None:
    """Its spec may be another one than that of the log service that it deletes."""
    made = log_set("bucket/typo", pvcRetentionPolicy="Retain")
    del made["metadata"]["uid"], made["metadata"]["annotations"]

    step = removal_of(made, {"workload": running(), "claims": [claim(0, recorded)]})[0]

    found = [one["metadata"]["annotations"].get(STORAGE) for one in step["patches"]]
    assert [one for one in found if one] == patched
