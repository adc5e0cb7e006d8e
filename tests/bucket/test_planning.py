# SPDX-License-Identifier: Apache-2.0
"""Whose a path is, and what becomes of its data."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket.kind import (
    BUCKET_CLAIM,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket.plans import (
    BucketPlan,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import (
    PassEnd,
    Play,
)

from dev.render import to_yaml

from .worlds import CREATED, NOW, STORE, claim, log_set, seen

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
KIND = BUCKET_CLAIM
SHORTLY = "2026-11-22T18:00:20Z"
YESTERDAY = "2026-11-21T17:00:00Z"


PLAY = Play(image="operator:1")


def plan(resource: Json, *others: Json, **more: Any) -> BucketPlan:
    """Return what a pass decides; a Job that it creates to mark the path has done so."""
    decided = KIND.plan(resource, seen(resource, *others, **more), PLAY)
    marking = task_of(decided, tasks.Verb.CLAIM)
    if marking is None:
        return decided
    return KIND.plan(resource, seen(resource, *others, **{**done(marking), **more}), PLAY)


def task_of(decided: BucketPlan, verb: tasks.Verb) -> Json | None:
    """Return the ConfigMap with a task that a pass creates; None without one."""
    texts = ((one, (one.get("data") or {}).get("task.json")) for one in decided.objects)
    return next(
        (one for one, text in texts if text and tasks.task_from_json(text).verb is verb), None
    )


def done(task: Json, **result: Any) -> Json:
    """Return what is observed of a Job that has ended."""
    metadata = {"name": "r", "namespace": "prod", "uid": "u-r", "creationTimestamp": CREATED}
    given = tasks.Result(**{"phase": tasks.Phase.SUCCEEDED, **result})
    data = {"result.json": tasks.result_to_json(given)}
    task = {**task, "metadata": {**task["metadata"], "uid": "u-t", "creationTimestamp": CREATED}}
    return {"task": task, "result": {"metadata": metadata, "data": data}}


def status(resource: Json, decided: BucketPlan) -> Json:
    return KIND.reporter.report(PassEnd(resource, decided)).status


def conditions(resource: Json, decided: BucketPlan) -> dict[str, tuple[str, str]]:
    found = status(resource, decided)["conditions"]
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def verb_of(decided: BucketPlan) -> Json:
    [task] = [one for one in decided.objects if "task.json" in (one.get("data") or {})]
    found: Json = json.loads(task["data"]["task.json"])
    return found


def test_a_free_path_is_granted() -> None:
    own = claim()
    decided = plan(own, logSet=log_set())
    assert (decided.phase, decided.bind_to) == ("InUse", "prod/mo")
    found = status(own, decided)
    assert (found["state"], found["bindTo"]) == ("InUse", "prod/mo")
    assert conditions(own, decided)["Ready"] == ("True", "InUse")


def test_nothing_is_granted_in_the_second_of_the_creation() -> None:
    """Another claim of that second may not be visible yet."""
    decided = plan(claim(created=NOW), logSet=log_set())
    assert (decided.phase, decided.requeue) == ("Pending", "1s")


@pytest.mark.parametrize(
    ("path", "conflict"),
    [
        ("data/mo", True),
        ("/data/mo/", True),
        ("data", True),
        ("data/mo/deeper", True),
        ("data/mo2", False),
        ("data/m", False),
        ("other/mo", False),
    ],
)
@pytest.mark.parametrize("state", ["InUse", "Deleting"])
def test_one_path_one_owner(path: str, state: str, conflict: bool) -> None:
    other = claim("other", path, state, namespace="test", log_set="theirs")
    own = claim()
    decided = plan(own, other, logSet=log_set())
    if not conflict:
        assert decided.phase == "InUse"
        return
    assert (decided.phase, decided.problem["reason"]) == ("Pending", "PathTaken")
    assert "LogSet test/theirs" in decided.message
    assert "BucketClaim test/other" in decided.message
    assert decided.requeue
    assert conditions(own, decided)["Synced"] == ("False", "PathTaken")


@pytest.mark.parametrize(
    ("endpoint", "conflict"),
    [
        (f"{STORE}/", True),
        ("minio.storage:9000", True),  # the scheme makes no other server of it
        ("http://minio.storage.svc:9000", True),
        ("http://Minio.Storage.svc.cluster.local.:9000", True),
        ("http://minio.storage.svc.example.com:9000", False),
        ("http://minio:9000", False),  # that of its own namespace
        ("http://elsewhere:9000", False),
        ("http://minio", False),
    ],
)
def test_paths_of_other_servers_are_other_paths(endpoint: str, conflict: bool) -> None:
    other = claim("other", "data/mo", "InUse", endpoint=endpoint)
    assert (plan(claim(), other, logSet=log_set()).phase == "Pending") == conflict


def test_a_service_of_two_namespaces_is_two_servers() -> None:
    own = claim(endpoint="http://minio:9000")
    other = claim("other", state="InUse", namespace="test", endpoint="http://minio:9000")
    same = claim("other", state="InUse", namespace="test", endpoint="http://minio.prod:9000")
    assert plan(own, other, logSet=log_set()).phase == "InUse"
    assert plan(own, same, logSet=log_set()).phase == "Pending"


def test_the_cluster_domain_of_a_claim_is_a_part_of_its_names() -> None:
    other = claim("other", state="InUse", endpoint="http://minio.storage.svc.example.com:9000")
    other["spec"]["clusterDomain"] = "example.com"
    assert plan(claim(), other, logSet=log_set()).phase == "Pending"


def refused(*others: Json, **more: Any) -> Json:
    """Return a claim that waits because another database has its path."""
    own = claim(**more)
    waiting = plan(own, *others, logSet=log_set(str(more.get("log_set", "mo"))))
    assert waiting.problem["reason"] == "PathTaken"
    return {**own, "status": status(own, waiting)}


def first_of(path: str = "data/mo", **more: Any) -> tuple[Json, Json]:
    """Return the claim of a database while it runs, and after its LogSet left and kept the data."""
    given = {"name": "first", "path": path, "log_set": "first", "created": YESTERDAY, **more}
    return claim(state="InUse", **given), claim(state="Released", released=True, **given)


def test_data_that_are_kept_do_not_go_to_whoever_waited_for_the_path() -> None:
    """The path may be there by mistake, and the first database may be created again at once."""
    before, after = first_of()
    own = refused(before)

    decided = plan(own, after, logSet=log_set())

    assert (decided.phase, decided.problem["reason"]) == ("Pending", "PathTaken")
    assert "LogSet prod/first" in decided.message
    assert "bucket.matrixorigin.io/adopt=uid-first" in decided.message
    again = {**own, "status": status(own, decided)}
    assert plan(again, after, logSet=log_set()).phase == "Pending"


def _while_it_is_given_back(own: Json, before: Json, after: Json) -> Json:
    leaving = {**after, "status": before["status"]}
    return status(own, plan(own, leaving, logSet=log_set()))


def _by_a_pass_that_fails_at_once(own: Json, _before: Json, _after: Json) -> Json:
    return KIND.reporter.report(PassEnd(own, BucketPlan(), failure="cannot be reached")).status


@pytest.mark.parametrize("seen_again", [_while_it_is_given_back, _by_a_pass_that_fails_at_once])
def test_what_happens_meanwhile_does_not_make_who_waited_a_new_database(
    seen_again: Callable[[Json, Json, Json], Json],
) -> None:
    before, after = first_of()
    own = refused(before)
    own["status"] = seen_again(own, before, after)
    decided = plan(own, after, logSet=log_set())
    assert (decided.phase, decided.problem.get("reason")) == ("Pending", "PathTaken")


@pytest.mark.parametrize(
    ("released", "changes"),
    [
        ({}, {"annotations": {"bucket.matrixorigin.io/adopt": "uid-first"}}),
        ({"ran": False}, {}),
        ({"path": "data/other"}, {}),
        ({"log_set": "mo"}, {}),
    ],
    ids=["adopted", "never ran", "another path", "the same LogSet, created again"],
)
def test_who_waited_gets_a_path_at_which_nothing_of_others_is_kept(
    released: Json, changes: Json
) -> None:
    own = refused(first_of()[0])
    own["metadata"]["annotations"] |= changes.get("annotations", {})

    assert plan(own, first_of(**released)[1], logSet=log_set()).phase == "InUse"


def test_data_that_are_kept_go_to_their_database_when_it_is_created_again() -> None:
    """Also while somebody else has waited for longer."""
    before, after = first_of()
    other = refused(before, name="second", log_set="second")
    own = claim("again", log_set="first", created=SHORTLY)

    assert plan(own, other, after, logSet=log_set("first")).phase == "InUse"


def test_a_new_database_gets_the_data_of_one_that_is_gone() -> None:
    assert plan(claim(), first_of()[1], logSet=log_set()).phase == "InUse"


def test_a_path_that_is_being_given_back_has_not_refused_anybody() -> None:
    """The next database may be created before a pass has seen that the path was released."""
    before, after = first_of()
    leaving = {**after, "status": before["status"]}
    own = claim()
    decided = plan(own, leaving, logSet=log_set())
    assert (decided.phase, decided.problem) == ("Pending", {})
    assert decided.requeue

    waiting = {**own, "status": status(own, decided)}

    assert plan(waiting, after, logSet=log_set()).phase == "InUse"


UNREADABLE: list[Json] = [
    {"endpoint": "http://minio.storage:9000 "},
    {"endpoint": "http://minio.storage:99999"},
    {"endpoint": "http://minio.storage:abc"},
    {"endpoint": "http://[fd00::1:9000"},
    {"endpoint": "http://[fd00::1%eth0]:9000"},
    {"endpoint": "\x00"},
    {"path": "s3://data/mo"},
    {"path": "data/../../mo"},
    {"path": 7},
    {"endpoint": ["data"]},
    {"type": "gcs"},
    {"region": "us west"},
    {"certificateRef": "ca"},
]
"""What an S3 table may have and cannot be read."""


@pytest.mark.parametrize("change", UNREADABLE, ids=str)
@pytest.mark.parametrize("state", ["", "InUse", "Deleting"])
def test_a_claim_that_cannot_be_read_is_in_nobodys_way(change: Json, state: str) -> None:
    other = claim("other", state=state, namespace="test", created="2026-11-20T00:00:00Z")
    other["spec"]["s3"] |= change
    assert plan(claim(), other, logSet=log_set()).phase == "InUse"
    released = claim(state="Released", released=True)
    assert not plan(released, other).expired


@pytest.mark.parametrize("change", UNREADABLE, ids=str)
def test_what_cannot_be_read_may_be_where_data_are_to_be_deleted(change: Json) -> None:
    other = claim("other", state="InUse", namespace="test")
    other["spec"]["s3"] |= change
    decided = plan(deleted(), other)
    assert decided.done
    assert "BucketClaim test/other" in decided.kept
    elsewhere = claim("other", "elsewhere/mo", "InUse", namespace="test")
    elsewhere["spec"]["s3"] |= {"endpoint": "http://minio.storage:abc"}
    assert not plan(deleted(), elsewhere).done


@pytest.mark.parametrize("change", UNREADABLE, ids=str)
def test_a_claim_that_cannot_be_read_itself(change: Json) -> None:
    own = claim(state="InUse")
    own["spec"]["s3"] |= change
    decided = plan(own, logSet=log_set())
    assert (decided.phase, bool(decided.invalid)) == ("InUse", True)
    assert conditions(own, decided)["Ready"] == ("False", "InvalidSpec")
    going = deleted()
    going["spec"]["s3"] |= change
    going["metadata"]["finalizers"].append("matrixorigin.io/CN-one")
    decided = plan(going)
    assert decided.done
    assert not decided.objects
    assert decided.patches[0]["metadata"]["finalizers"] == ["matrixorigin.io/bucket-data-finalizer"]


def test_a_bucket_of_aws_is_the_same_by_any_endpoint() -> None:
    """Its name is unique, and the type left out means aws, as if it were written."""
    other = claim(
        "other", "data/mo", "InUse", endpoint="https://s3.dualstack.eu-west-1.amazonaws.com"
    )
    own = claim(endpoint="")
    for one in (own["spec"]["s3"], other["spec"]["s3"]):
        one["type"] = "aws"
    del other["spec"]["s3"]["type"]
    assert plan(own, other, logSet=log_set()).phase == "Pending"


def test_a_released_path_can_be_taken_again() -> None:
    """The claim that kept it is of no more use then."""
    old = claim("old", state="Released", log_set="", policy="Delete")
    own = claim()
    assert plan(own, old, logSet=log_set()).phase == "InUse"
    decided = plan(old, {**own, "status": {"state": "InUse"}})
    assert decided.expired[0]["metadata"] == {"name": "old", "namespace": "prod"}


def test_the_older_of_two_new_claims_is_granted() -> None:
    later = "2026-11-22T18:00:01Z"
    first, second = claim("b", log_set="one"), claim("a", log_set="two", created=later)
    assert plan(first, second, logSet=log_set("one")).phase == "InUse"
    assert plan(second, first, logSet=log_set("two")).phase == "Pending"
    twin = claim("a", log_set="two")
    phases = {plan(first, twin, logSet=log_set("one")).phase}
    phases.add(plan(twin, first, logSet=log_set("two")).phase)
    assert phases == {"InUse", "Pending"}


def test_a_claim_that_waits_for_another_one_holds_nobody_back() -> None:
    blocker = claim("blocker", "data/a", "InUse", log_set="one")
    waiting = claim("waiting", "data", "Pending", log_set="two", created=YESTERDAY)
    assert plan(claim(path="data/b"), waiting, blocker, logSet=log_set()).phase == "InUse"


def test_a_granted_path_stays_granted() -> None:
    other = claim("other", "data", "InUse", created=YESTERDAY)
    assert plan(claim(state="InUse"), other, logSet=log_set()).phase == "InUse"


@pytest.mark.parametrize(
    ("found", "phase"),
    [
        ({"logSet": log_set()}, "InUse"),
        ({}, "Released"),
        ({"logSet": log_set(uid="later")}, "Released"),
        ({"logPods": [{"kind": "Pod"}]}, "InUse"),  # kubectl delete --cascade=orphan
    ],
)
def test_a_claim_whose_log_set_is_gone_is_released(found: Json, phase: str) -> None:
    assert plan(claim(state="InUse"), **found).phase == phase


LATER = {"logSet": log_set(uid="later", created=SHORTLY, path="data/other")}
"""A cluster that is created again under its name, with another path."""


@pytest.mark.parametrize(("created", "phase"), [(CREATED, "InUse"), (NOW, "Released")])
def test_pods_of_a_later_log_set_of_the_name_use_another_path(created: str, phase: str) -> None:
    pods = [{"kind": "Pod", "metadata": {"creationTimestamp": created}}]
    assert plan(claim(state="InUse"), **LATER, logPods=pods).phase == phase


def test_pods_of_a_later_log_set_with_the_same_path_count() -> None:
    """It has adopted those of the LogSet before, and replaced them since."""
    later = log_set(uid="later", created=SHORTLY)
    pods = [{"kind": "Pod", "metadata": {"creationTimestamp": NOW}}]
    assert plan(claim(state="InUse"), logSet=later, logPods=pods).phase == "InUse"
    assert plan(deleted(), logSet=later, logPods=pods).problem["reason"] == "InUse"


@pytest.mark.parametrize("label", ["logPods", "dnSets", "cnSets"])
def test_a_later_log_set_of_the_name_does_not_hold_up_a_deletion(label: str) -> None:
    used = {"logSet": {"metadata": {"name": "mo"}}}
    earlier = {"kind": "DNSet", "metadata": {"name": "mo", "creationTimestamp": CREATED}}
    later = {**earlier, "metadata": {"name": "mo", "creationTimestamp": NOW}}
    own = deleted()

    held = plan(own, **LATER, **{label: [{**earlier, "deps": used}]})
    going = plan(own, **LATER, **{label: [{**later, "deps": used}]})

    assert (held.problem["reason"], bool(task_of(held, tasks.Verb.RECLAIM))) == ("InUse", False)
    assert task_of(going, tasks.Verb.RECLAIM)


def test_a_claim_of_the_go_operator() -> None:
    """It names its LogSet in the status alone, and its sets by finalizers, which may be leaked."""
    own = claim(log_set="")
    own["status"] = {"state": "InUse", "bindTo": "prod/mo"}
    assert plan(own, logSet=log_set()).phase == "InUse"
    own["metadata"]["finalizers"].append("matrixorigin.io/CN-62e6fe6")
    own["metadata"]["deletionTimestamp"] = SHORTLY
    own["spec"]["s3"]["s3RetentionPolicy"] = "Retain"
    decided = plan(own)
    assert decided.done
    left = decided.patches[0]["metadata"]["finalizers"]
    assert left == ["matrixorigin.io/bucket-data-finalizer"]


# Deletion


def deleted(**more: Any) -> Json:
    return claim(**{"state": "Deleting", "deleted": SHORTLY, "released": True, **more})


def test_a_claim_in_use_is_not_deleted() -> None:
    own = deleted(released=False)
    decided = plan(own, logSet=log_set())
    assert (decided.done, decided.phase, decided.objects) == (False, "InUse", ())
    assert conditions(own, decided)["Degraded"] == ("True", "InUse")
    assert "LogSet prod/mo uses the path" in decided.message


@pytest.mark.parametrize(
    ("own", "others", "kept"),
    [
        (deleted(policy="Retain"), [], ""),
        (deleted(ran=False), [], "no log store was ever seen ready"),
        (deleted(released=False, state="Deleting"), [], "did not release"),
        (deleted(), [claim("next", "data", "InUse", log_set="x")], "LogSet prod/x"),
        (deleted(**{"matrixorigin.io/release": "true"}), [], "matrixorigin.io/release"),
    ],
)
def test_data_are_kept(own: Json, others: list[Json], kept: str) -> None:
    decided = plan(own, *others)
    assert decided.done
    assert kept in decided.kept if kept else decided.kept == ""
    events = KIND.reporter.report(PassEnd(own, decided)).events
    assert ("DataKept" in [one["reason"] for one in events]) == bool(kept)


def test_a_deletion_ends_but_not_before_it_was_tried() -> None:
    """The operator may have been away for more than a day."""
    own = deleted()
    own["metadata"]["deletionTimestamp"] = YESTERDAY
    first = plan(own)
    assert not first.done
    assert first.objects[-1]["kind"] == "Job"
    going = {"metadata": {"name": "own-reclaim", "creationTimestamp": CREATED}}
    pod = {"metadata": {"name": "p"}, "status": {"phase": "Running"}}
    assert not plan(own, job=going, pods=[pod]).done
    task = task_of(first, tasks.Verb.RECLAIM) or {}
    failed = {"phase": tasks.Phase.FAILED, "reason": tasks.Reason.ACCESS_DENIED}
    last = plan(own, **done(task, **failed))
    assert last.done
    assert "not deleted within 24 h" in last.kept


def test_a_pass_that_began_before_the_release_keeps_nothing_and_deletes_nothing() -> None:
    """It sees the LogSet gone, but the claim as it was before; the next one sees the release."""
    own = deleted(released=False, state="InUse")
    decided = plan(own)
    assert (decided.done, decided.kept, decided.objects) == (False, "", ())
    assert status(own, decided)["state"] == "Deleting"
    assert verb_of(plan(deleted(state="Deleting")))["verb"] == "reclaim"


@pytest.mark.parametrize("state", ["InUse", "Released"])
def test_deleting_is_written_before_anything_is_deleted(state: str) -> None:
    own = deleted(state=state)
    decided = plan(own)
    assert (decided.done, decided.objects, decided.problem["reason"]) == (False, (), "Waiting")
    own["status"] = status(own, decided)
    assert own["status"]["state"] == "Deleting"
    [progressing] = [one for one in own["status"]["conditions"] if one["type"] == "Progressing"]
    for second, begins in (("28", False), ("25", True)):
        progressing["lastTransitionTime"] = f"2026-11-22T18:00:{second}Z"
        assert bool(plan(own).objects) is begins
    # Who took the path in between keeps the data.
    assert "LogSet prod/x" in plan(own, claim("next", state="InUse", log_set="x")).kept


@pytest.mark.parametrize(
    ("other", "free"),
    [
        (deleted(name="old", state="Released"), False),
        (deleted(name="old", state="Deleting"), False),
        (deleted(name="old", state="InUse"), False),
        (deleted(name="old", state="Released", policy="Retain"), True),
        (deleted(name="old", state="Pending"), True),
    ],
)
def test_a_claim_that_is_deleted_with_its_data_holds_the_path(other: Json, free: bool) -> None:
    decided = plan(claim(), other, logSet=log_set())
    assert decided.phase == ("InUse" if free else "Pending")


def job(ended: bool = False) -> Json:
    conditions = [{"type": "Complete", "status": "True", "lastTransitionTime": NOW}]
    return {
        "metadata": {"name": "own-reclaim", "namespace": "prod", "creationTimestamp": NOW},
        "status": {"conditions": conditions if ended else []},
    }


def pod(phase: str = "Running") -> Json:
    return {"metadata": {"name": "own-reclaim-x"}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    "own",
    [
        deleted(**{"matrixorigin.io/release": "true"}),
        deleted() | {"metadata": {**deleted()["metadata"], "deletionTimestamp": YESTERDAY}},
    ],
    ids=["annotation", "after a day"],
)
def test_the_path_is_free_when_nothing_deletes_any_more(own: Json) -> None:
    lost = {"reason": "Unreachable", "retryable": True}
    result = {
        "phase": "Failed",
        "step": "Delete",
        "done": {"files": 3000},
        "startedAt": NOW,
        **lost,
    }
    seen = {"result": {"data": {"result.json": json.dumps(result)}}}
    working = plan(own, job=job(), pods=[pod()], **seen)
    assert (working.done, working.kept) == (False, "")
    assert [one["metadata"]["name"] for one in working.stop] == ["own-reclaim"]
    assert "waiting for Pod own-reclaim-x" in working.message
    ending = plan(own, pods=[pod()], **seen)
    assert (ending.done, list(ending.stop), ending.objects) == (False, [], ())
    gone = plan(own, pods=[pod("Failed")], **seen)
    assert gone.done
    assert "but for 3000 objects" in gone.kept


def test_why_the_pod_that_deletes_the_data_is_refused_is_said() -> None:
    problems = {"notCreated": {"": "exceeded quota: team"}}
    assert "exceeded quota: team" in plan(deleted(), job=job(), podProblems=problems).message


def test_no_second_job_beside_a_pod_of_the_first() -> None:
    decided = plan(deleted(), pods=[pod()])
    assert (decided.done, decided.objects) == (False, ())
    assert "Pod own-reclaim-x of an earlier Job" in decided.message
    assert plan(deleted(), pods=[pod("Failed")]).objects


POD_OF_THE_LOG_SET: Json = {
    "spec": {
        "serviceAccountName": "store-user",
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "db", "operator": "Exists"}],
        "containers": [{"name": "main", "image": "mo", "env": [
            {"name": "AWS_PROFILE", "value": "x"}, {"name": "GODEBUG", "value": "y"}]}],
    }
}  # fmt: skip


@pytest.mark.parametrize("name", ["keys", "identity"])
def test_what_deletes_the_data_is_as_released(name: str, request: pytest.FixtureRequest) -> None:
    own = deleted()
    if name == "identity":
        own["spec"]["logSetSpec"] = POD_OF_THE_LOG_SET
        del own["spec"]["s3"]["secretRef"]
    own["spec"]["s3"]["endpoint"] = "http://minio:9000"
    text = to_yaml(list(plan(own).objects))
    golden = GOLDEN / f"reclaim-{name}.yaml"
    if request.config.getoption("--regenerate-golden", default=False):
        golden.write_text(text)
    assert golden.read_text() == text


def test_a_job_deletes_the_data() -> None:
    own = deleted()
    own["spec"]["logSetSpec"] = POD_OF_THE_LOG_SET
    decided = plan(own)
    assert not decided.done
    task = verb_of(decided)
    assert (task["verb"], task["target"]["s3"]["prefix"]) == ("reclaim", "mo")
    job = decided.objects[-1]["spec"]["template"]["spec"]
    assert job["serviceAccountName"] == "store-user"
    assert job["nodeSelector"] == {"disk": "fast"}
    assert job["tolerations"] == [{"key": "db", "operator": "Exists"}]
    [main] = job["containers"]
    variables = {one["name"] for one in main["env"]}
    assert (main["image"], "AWS_PROFILE" in variables, "GODEBUG" in variables) == (
        "operator:1", True, False,
    )  # fmt: skip
    kinds = [one["kind"] for one in decided.objects]
    assert "ServiceAccount" not in kinds
    assert conditions(own, decided)["Progressing"] == ("True", "DeletingData")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"targetSecret": None}, "Secret prod/store does not exist"),
        ({"logPods": [{"kind": "Pod"}]}, "waiting for the Pods of the LogSet"),
        (
            {"cnSets": [{"kind": "CNSet", "metadata": {"name": "tp"},
                         "deps": {"logSet": {"metadata": {"name": "mo"}}}}]},
            "waiting for CNSet tp",
        ),
    ],
)  # fmt: skip
def test_what_a_deletion_waits_for(more: Json, said: str) -> None:
    decided = plan(deleted(), **more)
    assert not decided.done
    assert "Job" not in {one["kind"] for one in decided.objects}
    assert said in decided.message


def test_a_wait_for_a_secret_notices_the_end_of_the_namespace() -> None:
    """The Secret goes with the namespace; creating a ConfigMap is refused then, which ends it."""
    [asked] = plan(deleted(), targetSecret=None).objects
    assert (asked["kind"], asked["metadata"]["name"]) == ("ConfigMap", "own-reclaim-result")


@pytest.mark.parametrize(
    "reason", ["AccessDenied", "Unreachable", "CredentialsExpired", "TargetNotEmpty"]
)
def test_a_failure_has_a_reason_of_its_own_and_is_tried_again(reason: str) -> None:
    own = deleted()
    result = tasks.result_to_json(
        tasks.Result(
            tasks.Phase.FAILED, reason=tasks.Reason(reason), message="the store said so",
            started_at=SHORTLY,
        )
    )  # fmt: skip
    place = {"namespace": "prod", "creationTimestamp": CREATED}
    ended = [{"type": "Failed", "status": "True", "lastTransitionTime": CREATED}]
    found = {
        "job": {"metadata": {**place, "name": "j"}, "status": {"conditions": ended}},
        "result": {"metadata": {**place, "name": "r"}, "data": {"result.json": result}},
    }
    decided = plan(own, **found)
    assert (decided.done, list(decided.stop)) == (False, [])
    assert conditions(own, decided)["Degraded"] == ("True", reason)
    later = plan(own, **found, now="2026-11-22T18:11:00Z")
    assert [one["metadata"]["name"] for one in later.stop] == ["j", "r"]


def test_progress_and_the_end() -> None:
    own = deleted()
    amounts = {"done": tasks.Amount(500, 1000), "total": tasks.Amount(1000, 2000)}
    result = tasks.Result(tasks.Phase.SUCCEEDED, step=tasks.Step.DELETE, **amounts)
    decided = plan(own, result={"data": {"result.json": tasks.result_to_json(result)}})
    assert decided.done
    assert status(own, decided)["progress"]["files"] == "500/1000"
    events = KIND.reporter.report(PassEnd(own, decided)).events
    assert [one["reason"] for one in events] == ["DataDeleted"]


def test_a_paused_claim_is_left_alone() -> None:
    own = claim(state="InUse", **{"matrixorigin.io/paused": "true"})
    decided = plan(own)
    assert decided.paused
    assert conditions(own, decided)["Paused"] == ("True", "PausedByAnnotation")


def test_metrics() -> None:
    own = claim()
    shown = KIND.metrics(own, {"state": "InUse"})
    assert {one["labels"]["state"]: one["gauge"].get("set") for one in shown} == {
        "Pending": 0.0, "InUse": 1.0, "Released": 0.0, "Deleting": 0.0,
    }  # fmt: skip
    assert all(one["gauge"] == {"remove": True} for one in KIND.metrics(own, None))
