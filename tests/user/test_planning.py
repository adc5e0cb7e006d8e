# SPDX-License-Identifier: Apache-2.0
"""When the database is asked, what is waited for, and what a status says of it."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.database_objects.planning import (
    ObjectPlan,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.report import Report
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.kind import DATABASE_USER
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.results import UserResults
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.status import (
    report_on_user,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.support import resources as r

from .worlds import user

Json = dict[str, Any]
ASLEEP = "no Pods run; spec.hibernation.state wakes it"


def cluster(ready: str = "True", message: str = "", **spec: Any) -> Json:
    """Return the MatrixOneCluster mo."""
    found: Json = r.cluster(**spec)
    one = {"type": "Ready", "status": ready, "reason": "Any", "message": message}
    found["status"] = {"conditions": [one]}
    return found


def deleted(resource: Json) -> Json:
    metadata = {**resource["metadata"], "deletionTimestamp": "2026-11-22T18:00:10Z"}
    return {**resource, "metadata": metadata}


def at(resource: Json, second: int) -> Json:
    """Return a resource that was created at a second."""
    metadata = {**resource["metadata"], "creationTimestamp": f"2026-11-22T18:00:{second:02}Z"}
    return {**resource, "metadata": metadata}


def plan(resource: Json, *others: Json, cluster: Json | None) -> ObjectPlan:
    return DATABASE_USER.plan(resource, {"cluster": cluster, "others": [resource, *others]})


@pytest.mark.parametrize(
    ("proxy", "service"), [(None, "mo-tp-cn"), ({"replicas": 1}, "mo-proxy")], ids=["cn", "proxy"]
)
def test_a_database_that_serves_is_asked(proxy: Json | None, service: str) -> None:
    found = plan(user(), cluster=cluster(**({"proxy": proxy} if proxy else {})))
    assert (found.entrance, found.reason, found.done) == (service, "", False)


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (None, "MatrixOneCluster mo does not exist"),
        (deleted(cluster()), "MatrixOneCluster mo is being deleted"),
        (cluster("False", ASLEEP), f"MatrixOneCluster mo is not ready: {ASLEEP}"),
        (cluster("Unknown"), "MatrixOneCluster mo is not ready: Any"),
        (r.cluster(), "MatrixOneCluster mo is not ready: it has no status yet"),
    ],
    ids=["absent", "deleted", "asleep", "unknown", "new"],
)
def test_a_database_that_does_not_serve_is_waited_for(there: Json | None, said: str) -> None:
    found = plan(user(), cluster=there)
    assert (found.entrance, found.waiting_for) == ("", said)
    status = report(user(), found).status
    assert conditions(status)["Ready"] == ("False", "DependencyNotReady")
    assert status["message"] == said


@pytest.mark.parametrize(
    ("other", "taken"),
    [
        (at(user("older", name="shop"), 0), True),
        (at(user("younger", name="shop"), 30), False),
        (at(user("older"), 0), False),
        (deleted(at(user("older", name="shop"), 0)), False),
        (at(user("older", name="shop", clusterRef={"name": "other"}), 0), False),
        (at({**user("older"), "spec": {"name": "shop"}}, 0), False),
    ],
    ids=["older", "younger", "another name", "deleted", "another cluster", "without a cluster"],
)
def test_the_oldest_resource_of_a_user_counts(other: Json, taken: bool) -> None:
    resource = at(user(), 10)
    found = plan(resource, other, cluster=cluster())
    assert found.reason == ("NameTaken" if taken else "")
    assert bool(found.entrance) is not taken


def test_of_two_of_one_second_exactly_one_counts():
    one, two = user("one", name="shop"), user("two", name="shop")
    reasons = {
        plan(one, two, cluster=cluster()).reason,
        plan(two, one, cluster=cluster()).reason,
    }
    assert reasons == {"", "NameTaken"}


def test_of_two_of_one_second_the_one_that_has_the_user_keeps_it():
    one, two = user("one", name="shop"), user("two", name="shop")
    two["status"] = {"lastChecked": "2026-11-22T18:00:20Z"}
    assert plan(one, two, cluster=cluster()).reason == "NameTaken"
    assert plan(two, one, cluster=cluster()).reason == ""


@pytest.mark.parametrize(
    ("resource", "others", "there", "outcome"),
    [
        (user(), [], cluster(), "done"),
        (user(deletionPolicy="Retain"), [], cluster(), "done"),
        (user(deletionPolicy="Delete"), [], cluster(), "asked"),
        (user(deletionPolicy="Delete"), [], cluster("False", ASLEEP), "waits"),
        (user(deletionPolicy="Delete"), [], None, "done"),
        (user(deletionPolicy="Delete"), [], deleted(cluster("False")), "done"),
        (user(deletionPolicy="Delete"), [user("other", name="shop")], cluster(), "done"),
        (user(deletionPolicy="Delete", name="root"), [], cluster(), "done"),
    ],
    ids=[
        "by default", "retained", "dropped", "asleep", "no cluster", "the cluster goes, too",
        "of another one, too", "invalid",
    ],
)  # fmt: skip
def test_a_user_is_dropped_only_if_that_is_asked_for(resource, others, there, outcome):
    found = plan(deleted(resource), *others, cluster=there)
    told = "done" if found.done else "asked" if found.entrance else "waits"
    assert told == outcome
    assert (ASLEEP in found.waiting_for) is (outcome == "waits")


def test_what_is_invalid_is_said_and_not_asked():
    found = plan(user(name="root"), cluster=cluster())
    assert (found.entrance, found.reason) == ("", "InvalidSpec")
    status = report(user(name="root"), found).status
    assert conditions(status) == {
        "Ready": ("False", "InvalidSpec"),
        "Synced": ("False", "InvalidSpec"),
    }


def test_a_paused_resource_is_left_alone():
    resource = user()
    resource["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    found = plan(resource, cluster=cluster())
    assert (found.paused, found.entrance) == (True, "")
    assert report(resource, found).status["phase"] == "Paused"


DONE = UserResults(
    secret="shop-user", version="7", granted=["shop.*: Select"], checked="2026-11-22T18:00:20Z"
)
FAILURES = {
    "UserExists": "False",
    "SecretMissing": "False",
    "PasswordRefused": "False",
    "DependencyNotReady": "False",
    "SQLNotAnswered": "Unknown",
    "StatementRefused": "Unknown",
}


def report(resource: Json, decided: ObjectPlan, results: UserResults | None = None) -> Report:
    observed = {"results": results.as_variable() if results else {}}
    return DATABASE_USER.reporter.report(PassEnd(resource, decided, observed))


def conditions(status: Any) -> dict[str, tuple[str, str]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}


def applied() -> Json:
    """Return a user whose privileges were granted before."""
    resource = user()
    resource["status"] = report(resource, ObjectPlan(entrance="mo-proxy"), DONE).status
    return resource


def test_what_was_granted_is_in_the_status():
    status = applied()["status"]
    assert conditions(status) == {
        "Ready": ("True", "LoginAccepted"),
        "Synced": ("True", "Applied"),
    }
    assert status["granted"] == ["shop.*: Select"]
    assert (status["secretVersion"], status["phase"]) == ("7", "Ready")
    assert (status["user"], status["role"]) == ("shop", "matrixorigin_user_shop")


def test_a_database_that_is_missing_leaves_the_login():
    found = UserResults(
        reason="DatabaseMissing", message="waiting for later.*", secret="shop-user",
        version="7", missing=["later.*"], checked="2026-11-22T18:00:20Z",
    )  # fmt: skip
    told = report(user(), ObjectPlan(entrance="mo-proxy"), found)
    assert conditions(told.status) == {
        "Ready": ("True", "LoginAccepted"),
        "Synced": ("False", "DatabaseMissing"),
    }
    assert (told.requeue, told.status["message"]) == ("0h0m5s", "waiting for later.*")


@pytest.mark.parametrize(("reason", "ready"), FAILURES.items(), ids=FAILURES)
def test_what_went_wrong_is_said_and_what_is_known_is_kept(reason: str, ready: str) -> None:
    failed = UserResults(reason=reason, message="why", secret="shop-user")
    told = report(applied(), ObjectPlan(entrance="mo-proxy"), failed)
    assert conditions(told.status)["Ready"] == (ready, reason)
    assert told.status["granted"] == ["shop.*: Select"]
    assert told.status["secretVersion"] == "7"
    assert told.requeue in ("0h0m15s", "0h1m0s")
    synced = conditions(told.status)["Synced"]
    assert synced == (
        ("True", "Applied") if reason in ("SQLNotAnswered", "DependencyNotReady")
        else ("False", reason)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "generation", "after"),
    [(5, 1, "0h0m15s"), (90, 1, "0h1m30s"), (90, 2, "0h0m15s"), (9999, 1, "0h10m0s")],
)
@pytest.mark.parametrize("reason", ["PasswordRefused", "SQLNotAnswered", "StatementRefused"])
def test_a_database_that_refuses_for_long_is_asked_less_often(
    reason: str, seconds: int, generation: int, after: str
) -> None:
    """A change of the spec, which may be the remedy, begins anew."""
    results = UserResults(reason=reason, message="why", secret="shop-user")
    decided = ObjectPlan(entrance="mo-proxy")
    resource = user()
    resource["metadata"]["generation"] = 1
    resource["status"] = dict(report(resource, decided, results).status)
    for one in resource["status"]["conditions"]:
        one["lastTransitionTime"] = "2026-11-22T18:00:00Z"
    resource["metadata"]["generation"] = generation
    now = timestamp(unix_time("2026-11-22T18:00:00Z") + seconds)

    told = report_on_user(PassEnd(resource, decided, {"results": results.as_variable()}), now)

    assert told.requeue == after


def test_a_pass_that_asked_nobody_changes_nothing():
    resource = applied()
    told = report(resource, ObjectPlan(entrance="mo-proxy"), UserResults(unchanged=True))
    assert told.status == resource["status"]
    assert (told.events, told.requeue) == ([], "")


@pytest.mark.parametrize(
    ("created", "changes", "events"),
    [(True, 5, ["UserCreated"]), (False, 2, ["UserChanged"]), (False, 0, [])],
    ids=["created", "changed", "as it was"],
)
def test_events_tell_what_was_done(created: bool, changes: int, events: list[str]) -> None:
    found = UserResults(secret="s", version="7", checked="t", created=created, changes=changes)
    told = report(user(), ObjectPlan(entrance="mo-proxy"), found)
    assert [one["reason"] for one in told.events] == events
