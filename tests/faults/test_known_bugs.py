# SPDX-License-Identifier: Apache-2.0
"""Known bugs, put back one at a time: a point of the harness must notice each of them.

A harness that stays green with one of these protects from nothing. A promise that is new needs a
bug here that breaks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.pods import condition
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import links, users
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.job import (
    planning as backup_job,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    reading_back,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.plan import JobPlan
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket import (
    planning as bucket_planning,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes import (
    applying,
    selecting,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Conflict,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import failover
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.ownership import (
    deletion,
    marks,
    neighbours,
    taking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes import (
    carrying_out,
    status_writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.set_objects import (
    SetObjects,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting import (
    conditions,
    pods,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import planning
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import Judge

from ansible_operator.engine.forking import pool as forking_pool
from ansible_operator.kube import documents
from ansible_operator.loop.queueing.queue import WorkQueue
from ansible_operator.serve.proxy import field_managers, write_observer
from faults import lives, scenes
from faults.points import Point
from faults.running import run_point
from tests.ownership import test_interleavings as interleavings
from tests.pool import test_old_bugs as pools

Patch = pytest.MonkeyPatch
Json = dict[str, Any]


@dataclass(frozen=True)
class Bug:
    """A bug, and the point that must notice it.

    Attributes:
        put_back: does so.
        point: that must find it.
        noticed: a regular expression for what the point says.
    """

    put_back: Callable[[Patch], None]
    point: str
    noticed: str


def stores_are_down_since_they_were_ready(patch: Patch) -> None:
    """A roll of a cluster that is older than the time-out deletes the volumes of healthy stores."""

    def went_down(pod: Any, now: str) -> str:
        return str(condition(pod or {}, "Ready").get("lastTransitionTime") or now)

    patch.setattr(pods, "_went_down", went_down)
    patch.setattr(pods, "_within", lambda _earliest, moment, _now: moment)
    patch.setattr(failover, "_heartbeat_seconds_left", lambda *_given: 0.0)
    due = lambda store, policy: (store.down_since or 0.0) + policy.timeout  # noqa: E731
    patch.setattr(failover, "_due", due)


def heartbeats_are_not_asked_for(patch: Patch) -> None:
    """The operator's own clock alone says for how long a log store has been down."""
    patch.setattr(failover, "_heartbeat_seconds_left", lambda *_given: 0.0)


def backups_without_a_status_are_bad(patch: Patch) -> None:
    """Retention removes what was applied again, and has no status yet."""
    state_of = links.state_of
    patch.setattr(links, "state_of", lambda backup: replace(state_of(backup), known=True))


def leftovers_stay(patch: Patch) -> None:
    """What a set does not need any longer is never deleted."""
    patch.setattr(carrying_out, "prune", lambda *_given: [])


def conditions_get_a_new_time_in_each_pass(patch: Patch) -> None:
    """A status is written for ever: each write leads to another pass."""
    completed = conditions.completed

    def fresh(status: Json, _before: Json, now: str) -> Json:
        return completed(status, {}, now)

    patch.setattr(status_writer, "completed", fresh)


def the_observed_generation_stays(patch: Patch) -> None:
    """A status is about the generation that it was first written for."""
    write = status_writer.write

    def stale(session: Any, live: Json, status: Json, *more: Any, **how: Any) -> Any:
        known = (live.get("status") or {}).get("observedGeneration")
        kept = {**status, "observedGeneration": known} if known else status
        return write(session, live, kept, *more, **how)

    patch.setattr(status_writer, "write", stale)


def what_exists_is_created_again(patch: Patch) -> None:
    """Objects that are created once fail a pass that finds them."""

    def create(writer: applying.Writer, manifest: Json) -> Any:
        path = applying.collection_path(
            writer.session, manifest["apiVersion"], manifest["kind"],
            manifest["metadata"].get("namespace"),
        )  # fmt: skip
        wanted = writer._owned(manifest)
        after = writer.session.request("POST", path, attempt="create", body=wanted)
        return applying.Outcome("created", applying.Change.CREATED, None, after)

    patch.setattr(applying.Writer, "create_once", create)


def invalid_specs_are_in_sync(patch: Patch) -> None:
    """A spec that is refused is taken for one that is applied."""
    patch.setattr(Judge, "invalid", lambda *_given, **_more: "")


def a_deletion_takes_what_others_own(patch: Patch) -> None:
    """What is deleted is chosen by kind alone."""
    patch.setattr(selecting.Selection, "_owned", lambda _self, _entry: True)


def nobody_looks_around_a_target(patch: Patch) -> None:
    """Deleting a backup deletes all that is below its prefix, backups of others as well."""
    for name in ("around", "below", "beside"):
        patch.setattr(neighbours, f"require_none_{name}", lambda *_given: None)
    patch.setattr(neighbours, "require_outside", lambda *_given: None)
    patch.setattr(neighbours, "require_empty", lambda *_given: None)
    patch.setattr(interleavings, "is_of_backup", lambda _key: True)


def marks_are_looked_for_and_then_written(patch: Patch) -> None:
    """Two attempts on one target are not exclusive."""

    def write(store: Any, base: str, number: int, mark: Any, _sleep: object) -> bool:
        content = marks.to_json(mark)
        store.write(marks.key_of(base, number), [content], len(content))
        return True

    patch.setattr(taking, "_write", write)
    patch.setattr(taking, "_require_free", lambda *_given: None)
    patch.setattr(taking.Hold, "require", lambda _self: None)


def the_mark_goes_first(patch: Patch) -> None:
    """A deletion that was interrupted finds nothing that tells whose the rest is."""
    clear = deletion.clear

    def clear_all(hold: Any, *given: Any) -> Any:
        for page in hold.store.erasable():
            hold.store.erase([one for one in page if marks.is_mark(one.key)])
        return clear(hold, *given)

    patch.setattr(deletion, "clear", clear_all)
    patch.setattr(taking.Hold, "require", lambda _self: None)


def documents_are_as_deep_as_they_come(patch: Patch) -> None:
    """One object that is nested deeply ends the operator for everybody."""
    patch.setattr(documents, "cut", lambda *_given: "")


def what_a_play_asked_for_is_lost(patch: Patch) -> None:
    """A check that answers another event takes the place of what the last play has asked for."""
    patch.setattr(WorkQueue, "restore", lambda _self, _key: False)


def retention_knows_no_databases(patch: Patch) -> None:
    """Backups are chosen by the labels of their schedule alone, whatever was backed up."""
    link_of = links._link_of

    def of_anything(backup: Json) -> Any:
        found = link_of(backup)
        return found and replace(found, source="")

    patch.setattr(links, "_link_of", of_anything)


def nobody_uses_a_backup(patch: Patch) -> None:
    """Its data are deleted while a cluster is to be restored from them."""
    patch.setattr(users, "users_of", lambda *_given: iter(()))


def whatever_fails_refutes(patch: Patch) -> None:
    """A lost connection says that a table cannot be read, and retention deletes a good backup."""

    def refused(error: Exception, _is_alive: bool) -> Exception:
        return reading_back.Refused(str(error))

    patch.setattr(reading_back, "_meant", refused)


def a_claim_that_goes_holds_nothing(patch: Patch) -> None:
    """A path is granted while the data of the claim before are deleted."""
    holder = bucket_planning.holder
    patch.setattr(
        bucket_planning, "holder", lambda claim, others, _states: holder(claim, others, ("InUse",))
    )


def released_claims_take_their_data_along(patch: Patch) -> None:
    """The policy of a claim is not asked once its LogSet has released it (the predecessor's 594)."""
    decide = bucket_planning._without_a_job

    def deleting(plan: Any, resource: Json, observed: Json) -> Any:
        s3 = {**resource["spec"]["s3"], "s3RetentionPolicy": "Delete"}
        return decide(plan, {**resource, "spec": {**resource["spec"], "s3": s3}}, observed)

    patch.setattr(bucket_planning, "_without_a_job", deleting)


def a_worker_hides_the_end_of_its_run(patch: Patch) -> None:
    """A run whose process is killed goes on for as long as the socket is held by a worker."""
    patch.setattr(forking_pool, "_cut_off_later", lambda *_given: None)


def a_version_that_is_not_known_is_our_own(patch: Patch) -> None:
    """A write that changes nothing is answered with another one's version, which is then ours."""

    def is_its_own(write: Any, answered: Any) -> bool:
        return (write.before or {}).get("resourceVersion") != answered.resourceVersion

    patch.setattr(write_observer, "_is_its_own", is_its_own)


def who_was_frozen_lets_stores_leave(patch: Patch) -> None:
    """A log service is scaled in by what another leader has changed since."""
    patch.setattr(planning, "_generations", lambda *_given: {})


def who_was_frozen_records_what_it_read(patch: Patch) -> None:
    """Of two incarnations that two operators record, the annotation keeps one."""

    def annotate(self: SetObjects, annotations: Json) -> None:
        place = {"name": self._name, "namespace": self._namespace, "annotations": annotations}
        identity = {key: self._resource[key] for key in ("apiVersion", "kind")}
        self._writer.patch({**identity, "metadata": place})

    patch.setattr(SetObjects, "annotate", annotate)


def who_was_frozen_takes_a_path_back(patch: Patch) -> None:
    """A path that was granted meanwhile is marked once more, and is nobody's until then."""
    write = status_writer.write

    def blindly(session: Any, live: Json, status: Json, *more: Any, **how: Any) -> Any:
        return write(session, live, status, *more, **{**how, "decided_by": None})

    patch.setattr(status_writer, "write", blindly)


def deleted_jobs_are_forgotten(patch: Patch) -> None:
    """A BackupJob that is deleted right after its backup is complete leaves files of nobody."""
    forgotten = lambda resource, *_given: JobPlan(phase=resource["status"]["phase"])  # noqa: E731
    patch.setattr(backup_job, "_of_deleted", forgotten)


def whoever_wrote_since_then_has_written(patch: Patch) -> None:
    """That another one wrote last is not noticed if the run has written since the known version."""

    def has_written(manager: str, before: Any, after: Any) -> bool:
        if before and not after:
            return False
        known = field_managers._notes(before or ())
        answered = field_managers._notes(after or ())
        writers = {
            place[0]
            for place, (time, fields) in answered.items()
            if place not in known
            or known[place][0] != time
            or not field_managers._has_all(known[place][1], fields)
        }
        return manager in writers if writers else known == answered

    patch.setattr(write_observer, "has_written", has_written)


def whatever_conflicts_is_there(patch: Patch) -> None:
    """A creation that conflicts with a quota is taken for done."""
    create_once = applying.Writer.create_once

    def create(writer: applying.Writer, manifest: Json) -> Any:
        try:
            return create_once(writer, manifest)
        except Conflict:
            return applying.Outcome("", applying.Change.UNCHANGED, None, None)

    patch.setattr(applying.Writer, "create_once", create)


BUGS = [
    Bug(whoever_wrote_since_then_has_written, "runner/CNSet/writes:*", "taken for the run's own"),
    Bug(whatever_conflicts_is_there, "lossy/BackupJob/create:21", "Backup//.* is missing"),
    Bug(deleted_jobs_are_forgotten, "together/BackupJob/later:create:2", "Backup.* is missing"),
    Bug(who_was_frozen_lets_stores_leave, "together/LogSet/operator:in:5", "created too many"),
    Bug(who_was_frozen_records_what_it_read, "together/LogSet/operator:in:2", "incarnations"),
    Bug(who_was_frozen_takes_a_path_back, "together/LogSet/operator:create:46", "created too many"),
    Bug(whatever_fails_refutes, "stores/Backup/read-back:*", "a backup is refuted"),
    Bug(a_claim_that_goes_holds_nothing, "promises/BucketClaim/held:new", "while its data are"),
    Bug(released_claims_take_their_data_along, "promises/BucketClaim/retained:new", "is Retain"),
    Bug(a_worker_hides_the_end_of_its_run, "runner/CNSet/killed:1", "is not noticed"),
    Bug(a_version_that_is_not_known_is_our_own, "runner/CNSet/writes:*", "taken for the run's own"),
    Bug(retention_knows_no_databases, "promises/BackupSchedule/sources:day", "no Backup is left"),
    Bug(nobody_uses_a_backup, "promises/Backup/in-use:day", "still to be restored|are deleted"),
    Bug(nobody_looks_around_a_target, "stores/Backup/outer:30", "took files of another"),
    Bug(marks_are_looked_for_and_then_written, "stores/BackupJob/two-owners:1", "two-owners|both"),
    Bug(the_mark_goes_first, "stores/Backup/deleted:*", "mark is gone"),
    Bug(documents_are_as_deep_as_they_come, "runner/LogSet/documents:0", "levels|raises"),
    Bug(what_a_play_asked_for_is_lost, "runner/CNSet/queue:1", "was not"),
    Bug(
        stores_are_down_since_they_were_ready, "aged/LogSet/roll:hours:none:20", "volumes are gone"
    ),
    Bug(heartbeats_are_not_asked_for, "clocks/LogSet/roll:30m-ahead:in-turn", "incarnations"),
    Bug(backups_without_a_status_are_bad, "interrupted/BackupSchedule/forgotten:1", "were removed"),
    Bug(leftovers_stay, "fields/LogSet/spec.config:changed", "left over"),
    Bug(
        conditions_get_a_new_time_in_each_pass,
        "fields/CNPool/spec.placement:changed",
        "writes go on",
    ),
    Bug(
        the_observed_generation_stays,
        "fields/CNSet/spec.replicas:changed",
        "observedGen|writes go on",
    ),
    Bug(
        what_exists_is_created_again, "interrupted/BackupJob/create:5", "fails for ever|undisturbed"
    ),
]
HISTORIES: Mapping[str, tuple[int, str]] = {
    "double_binding": (58, "is Bound, held by .*, and is bound"),
    "stealing_of_pods": (0, "is Bound, held by .*, and is bound"),
    "orphans_are_not_recovered": (3, "outside of a migration|has .*, .*"),
    "a_claim_of_the_same_name_inherits": (14, "works with labels"),
    "finalization_never_ends": (46, "waits for ever|bound to claims that are gone"),
    "lost_claims_block": (3, "claims for|claim set keeps it"),
    "runaway_creation": (0, "claims for . replicas"),
    "migrating_claims_are_scaled_in": (2, "migrates and is deleted"),
    "max_pods_aborts_the_pass": (1, "does not become quiet"),
    "ended_pods_are_ignored": (0, "does not serve it"),
    "pending_claims_are_not_trimmed": (0, "leaves . claims for . replicas"),
    "stale_reads_create_too_many": (0, "maxPods is|free Pods"),
    "age_by_seconds_of_the_minute": (0, "waited longer for it"),
    "claim_set_label_stays": (0, "still has labels of a claim"),
    "unknown_load_is_zero": (0, "has sessions"),
    "empty_labels_are_not_set": (0, "works with labels"),
    "scale_in_takes_pods_in_use": (0, "is Bound and is given up"),
    "endless_writes": (0, "does not become quiet"),
    "sources_are_released_at_once": (0, "is released .* after"),
}
"""The predecessor's races of claims and Pods, and its finalizers that never ended: where to begin.

Of its issues, 581, 582, 587 and 589 are `double_binding`, 583 is `sources_are_released_at_once`, 584
and 585 are `stealing_of_pods`, 591 is `finalization_never_ends` and `lost_claims_block`, 592 is
`migrating_claims_are_scaled_in`.
"""
_SEEDS = 60
"""A history depends a little on the order of sets, which differs from process to process."""


@pytest.fixture(autouse=True)
def _nothing_remembered() -> Iterator[None]:
    """Lives that were lived with a bug must not be what others are compared with."""
    yield
    lives.undisturbed.cache_clear()
    scenes._serving.cache_clear()
    scenes.scenes.cache_clear()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.put_back.__name__)
def test_a_point_notices_a_known_bug(bug: Bug, monkeypatch: Patch) -> None:
    # A star is any request after which a program is killed: how many there are may change.
    points = [Point.read(bug.point.replace("*", str(number))) for number in range(40)]
    points = points if "*" in bug.point else points[:1]
    lives.undisturbed.cache_clear()
    assert not any(run_point(point).fault for point in points)
    lives.undisturbed.cache_clear()
    bug.put_back(monkeypatch)
    results = [run_point(point) for point in points]
    found = next((one for one in results if one.fault), results[0])
    assert re.search(bug.noticed, found.fault), found
    assert not found.is_own, found


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_notices_a_bug_of_the_predecessor(name: str, monkeypatch: Patch) -> None:
    first, noticed = HISTORIES[name]
    points = [Point("histories", "CNPool", str(first + number)) for number in range(_SEEDS)]
    assert not run_point(points[0]).fault
    getattr(pools, name)(monkeypatch)
    found = next((one.fault for one in map(run_point, points) if one.fault), "")
    assert re.search(noticed, found)
