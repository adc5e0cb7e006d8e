# SPDX-License-Identifier: Apache-2.0
"""A path is granted once it is marked; a database that runs already is told of, never stopped."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Phase,
    Reason,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket.kind import (
    BUCKET_CLAIM,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket.plans import BucketPlan
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from .test_planning import done, task_of
from .worlds import STORE, claim, log_set, seen

Json = dict[str, Any]
KIND = BUCKET_CLAIM
HERE = {"endpoint": STORE, "path": "data/mo"}
LATER = "2026-11-22T23:00:00Z"


def plan(resource: Json, *others: Json, image: str = "operator:1", **more: Any) -> BucketPlan:
    observed = seen(resource, *others, **{"logSet": log_set(), **more})
    return KIND.plan(resource, observed, Play(image=image))


def status(resource: Json, decided: BucketPlan) -> Json:
    return KIND.reporter.report(PassEnd(resource, decided)).status


def condition(resource: Json, decided: BucketPlan, kind: str) -> tuple[str, str]:
    found = {one["type"]: one for one in status(resource, decided)["conditions"]}
    return (found[kind]["status"], found[kind]["reason"]) if kind in found else ("", "")


def task(decided: BucketPlan) -> tasks.Task:
    found = task_of(decided, Verb.CLAIM)
    assert found is not None, decided
    return tasks.task_from_json(found["data"]["task.json"])


def after(resource: Json, decided: BucketPlan) -> Json:
    return {**resource, "status": status(resource, decided)}


def with_granted(resource: Json, **granted: str) -> Json:
    return {**resource, "status": {**resource["status"], "granted": {**HERE, **granted}}}


def failed(reason: Reason) -> Json:
    return {"phase": Phase.FAILED, "reason": reason, "message": "said", "retryable": False}


def test_a_path_is_granted_once_it_is_marked() -> None:
    own = claim()
    begun = plan(own)
    assert (begun.phase, begun.bind_to) == ("Pending", "")
    assert [one["kind"] for one in begun.objects][-1] == "Job"
    given = task(begun)
    assert (given.id, given.owner.name, given.predecessor) == ("uid-own", "own", None)
    assert condition(own, begun, "PathMarked") == ("Unknown", "Waiting")
    assert condition(own, begun, "Degraded") == ("False", "AsExpected")

    ended = done(task_of(begun, Verb.CLAIM) or {})
    granted = plan(own, **ended)
    assert (granted.phase, granted.bind_to) == ("InUse", "prod/mo")
    assert status(own, granted)["granted"] == {**HERE, "mark": "uid-own"}
    assert condition(own, granted, "PathMarked") == ("True", "Marked")

    # What is left of the Job goes, also if the operator was ended in between.
    own = after(own, granted)
    assert [one["kind"] for one in plan(own, **ended).stop] == ["ConfigMap", "ConfigMap"]
    settled = plan(own)
    assert [*settled.objects, *settled.stop] == []
    assert status(own, settled)["granted"]["mark"] == "uid-own"


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (Reason.TARGET_NOT_EMPTY, "PathTaken"),
        (Reason.ACCESS_DENIED, "AccessDenied"),
        (Reason.UNREACHABLE, "Unreachable"),
        (Reason.TARGET_MISSING, "TargetMissing"),
    ],
)
@pytest.mark.parametrize("state", ["", "InUse"])
def test_a_path_that_cannot_be_marked(state: str, reason: Reason, shown: str) -> None:
    """A new database does not start there; one that runs goes on, and says so."""
    own = claim(state=state)
    ended = done(task_of(plan(own), Verb.CLAIM) or {}, **failed(reason))
    decided = plan(own, **ended)
    assert decided.phase == (state or "Pending")
    assert decided.bind_to == ("prod/mo" if state else "")
    assert condition(own, decided, "PathMarked") == ("False", shown)
    is_bad = not state or shown == "PathTaken"
    is_degraded = condition(own, decided, "Degraded") == ("True", shown)
    if shown == "PathTaken":
        assert "bucket.matrixorigin.io/adopt" in decided.message
        assert is_degraded == (state == "InUse")
        assert condition(own, decided, "Synced") == (
            ("True", "Applied") if state else ("False", "PathTaken")
        )
    else:
        assert is_degraded == is_bad
    assert not decided.stop
    again = plan(own, now=LATER, **ended)
    assert [one["kind"] for one in again.stop] == ["ConfigMap", "ConfigMap"]


def test_an_existing_database_gets_its_mark_while_it_runs() -> None:
    own = claim(state="InUse")
    begun = plan(own)
    assert (begun.phase, begun.bind_to) == ("InUse", "prod/mo")
    assert task(begun).predecessor is None
    assert condition(own, begun, "Synced") == ("True", "Applied")
    assert status(own, begun)["granted"] == HERE
    granted = plan(own, **done(task_of(begun, Verb.CLAIM) or {}))
    assert status(own, granted)["granted"] == {**HERE, "mark": "uid-own"}


def test_without_an_image_it_says_so() -> None:
    own = claim()
    decided = plan(own, image="")
    assert (decided.phase, decided.objects) == ("InUse", ())
    assert condition(own, decided, "PathMarked") == ("Unknown", "Waiting")
    assert task(plan(after(own, decided))).id == "uid-own"


def test_a_path_that_was_kept_keeps_its_mark() -> None:
    """The next claim takes the mark over, and is the one that may delete the data later."""
    before = with_granted(
        claim("before", "/data/mo/", "Released", namespace="test", released=True), mark="uid-first"
    )
    given = task(plan(claim(), before))
    assert (given.id, given.owner.name) == ("uid-first", "own")
    assert given.predecessor is not None
    assert (given.predecessor.namespace, given.predecessor.name) == ("test", "before")

    begun = claim(state="InUse")
    after_it = plan(with_granted(begun, mark="uid-first"), before)
    assert [one["metadata"]["uid"] for one in after_it.expired] == ["uid-before"]
    assert not plan(begun, before).expired

    gone = with_granted(claim(state="Deleting", released=True, deleted=LATER), mark="uid-first")
    gone["status"]["conditions"] = []
    deletes = KIND.plan(gone, seen(gone, now=LATER), Play(image="operator:1"))
    found = task_of(deletes, Verb.RECLAIM)
    assert found is not None, deletes
    assert tasks.task_from_json(found["data"]["task.json"]).id == "uid-first"


@pytest.mark.parametrize("path", ["data", "data/mo/deeper", "other/mo"])
def test_another_path_has_another_mark(path: str) -> None:
    before = claim("before", path, "Released", released=True)
    before["status"]["granted"] = {**HERE, "path": path, "mark": "uid-first"}
    assert task(plan(claim(), before)).id == "uid-own"


def test_an_annotation_adopts_a_path() -> None:
    """The failed Job is replaced at once."""
    own = claim()
    ended = done(task_of(plan(own), Verb.CLAIM) or {}, **failed(Reason.TARGET_NOT_EMPTY))
    own["metadata"]["annotations"]["bucket.matrixorigin.io/adopt"] = "uid-lost"
    assert plan(own, **ended).stop
    given = task(plan(own))
    assert given.id == "uid-lost"
    assert given.predecessor is not None
    assert given.predecessor.name == ""


@pytest.mark.parametrize("mark", [{}, {"mark": "uid-own"}])
def test_a_path_on_another_server_is_granted_again(mark: Json) -> None:
    """It holds both places until then; the database that runs goes on."""
    own = with_granted(claim(state="InUse", endpoint="http://other:9000"), **mark)
    begun = plan(own)
    assert (begun.phase, status(own, begun)["granted"]) == ("InUse", {**HERE, **mark})
    target = task(begun).target
    assert target is not None
    assert target.endpoint == "http://other:9000"  # type: ignore[union-attr]
    ended = plan(own, **done(task_of(begun, Verb.CLAIM) or {}))
    assert status(own, ended)["granted"]["endpoint"] == "http://other:9000"

    for endpoint in (STORE, "http://other.prod:9000"):
        another = claim("another", endpoint=endpoint, log_set="theirs")
        contested = plan(another, own, logSet=log_set("theirs"))
        assert (contested.phase, contested.problem["reason"]) == ("Pending", "PathTaken")
    holder = with_granted(claim("holder", state="InUse", endpoint="http://other.prod:9000"))
    decided = plan(own, holder)
    assert (decided.phase, decided.problem["reason"]) == ("InUse", "PathTaken")
    assert not decided.objects


def test_a_deletion_waits_for_the_job_that_marks() -> None:
    own = claim(state="Deleting", released=True, deleted=LATER)
    own["status"]["conditions"] = []
    job = {"metadata": {"name": "own-claim", "namespace": "prod", "uid": "u-j"}}
    observed = seen(own, now=LATER, claimJob=job)
    decided = KIND.plan(own, observed, Play(image="operator:1"))
    assert [one["metadata"]["name"] for one in decided.stop] == ["own-claim"]
    assert not decided.objects


def test_hostile_records_fail_no_pass() -> None:
    hostile: list[Any] = [7, [], {}, {"endpoint": 7}, {"endpoint": " ", "path": "\x00", "mark": []}]
    for granted in hostile:
        other = claim("other", state="InUse")
        other["status"]["granted"] = granted
        assert plan(claim(), other).problem["reason"] == "PathTaken", json.dumps(granted)
        own = claim(state="InUse")
        own["status"]["granted"] = granted
        assert plan(own).phase == "InUse"
