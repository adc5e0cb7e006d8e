# SPDX-License-Identifier: Apache-2.0
"""What must hold of every history of Backups, as their objects tell it.

Statuses are missing, stale or of something else, times are odd, ids and names are used twice,
sources change, and jobs, clusters and other Backups use some of them.
"""

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup import links, users
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.chains import whole
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import kind_of
from hypothesis import given
from hypothesis import strategies as st

Json = dict[str, Any]
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAMES = [f"b{number}" for number in range(10)]
BACKUPS, BACKUP_JOBS, RESTORE_JOBS, CLUSTERS = users.references()


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


REFUTED = {"result": "Failed", "reason": "TableUnreadable"}
DIFFERS = {"result": "Failed", "reason": "CheckFailed"}
GOOD = ({"phase": "Available"}, {"phase": "Available", "verification": DIFFERS})
BAD = ({"phase": "Broken"}, {"phase": "Available", "verification": REFUTED})
UNKNOWN = (
    None,
    {},
    {"phase": "Pending"},
    {"verification": {"result": "Passed"}},
    {"phase": "Available", "id": "of-another"},
    {"phase": "Broken", "observedGeneration": 0},
)


@st.composite
def backups(draw: Any, names: list[str], states: Any) -> list[Json]:
    return [draw(backup(name, states)) for name in names]


@st.composite
def backup(draw: Any, name: str, states: Any) -> Json:
    hours = draw(st.integers(0, 24 * 60))
    base = draw(st.sampled_from(["", "", *NAMES, "gone"]))
    uid = draw(st.sampled_from(["", "u1", "u2"]))
    status = draw(states)
    going = draw(st.sampled_from([False] * 7 + [True]))
    keep = draw(st.sampled_from([False] * 7 + [True]))
    return {
        "kind": "Backup",
        "metadata": {
            "name": name,
            "generation": 1,
            **({"deletionTimestamp": text(START)} if going else {}),
            **({"annotations": {"matrixorigin.io/keep": "true"}} if keep else {}),
        },
        "meta": {
            "id": f"id-{draw(st.sampled_from([name, name, name, NAMES[0]]))}",
            "atTime": text(START + timedelta(hours=hours)),
            "sourceRef": f"matrixonecluster/prod/{draw(st.sampled_from(['mo', 'mo', 'other']))}",
            "location": {"s3": {"path": f"b/{name}", "endpoint": "http://minio:9000"}},
            **({"sourceUid": uid} if uid else {}),
            **({"base": {"id": f"id-{base}"}} if base else {}),
        },
        **({"status": {"observedGeneration": 1, **status}} if status is not None else {}),
    }


KNOWN_STATES = st.sampled_from([*GOOD, *GOOD, *GOOD, *BAD])
ANY_STATES = st.sampled_from([*GOOD, *BAD, *UNKNOWN])
COUNT = st.integers(1, 10).map(lambda count: NAMES[:count])
KNOWN = COUNT.flatmap(lambda names: backups(names, KNOWN_STATES))
ANY = COUNT.flatmap(lambda names: backups(names, ANY_STATES))


def user(kind: str, **spec: Any) -> Json:
    return {"kind": kind, "metadata": {"name": "user", "namespace": "n", "uid": "u"}, "spec": spec}


USED = st.sets(st.sampled_from(NAMES), max_size=2)
POLICY = st.fixed_dictionaries(
    {},
    optional={
        "keepLast": st.integers(1, 4),
        "keepDaily": st.integers(1, 3),
        "keepMonthly": st.integers(1, 3),
        "maxAge": st.integers(1, 24 * 60).map(lambda hours: f"{hours}h"),
    },
).filter(bool)


def world(found: list[Json], restored: set[str], cloned: set[str], continued: set[str]) -> Json:
    """Return what a pass over the schedule observes."""
    incremental = {"type": "incremental", "source": {"clusterRef": "x"}}
    return {
        "jobs": [],
        "restoreJobs": [],
        "backups": found,
        BACKUPS: found,
        BACKUP_JOBS: [
            user("BackupJob", **incremental, base={"backupName": name})
            for name in sorted(continued)
        ],
        RESTORE_JOBS: [user("RestoreJob", backupName=name) for name in sorted(restored)],
        CLUSTERS: [user("MatrixOneCluster", restoreFrom=name) for name in sorted(cloned)],
        "now": text(START + timedelta(days=61)),
    }


def deleted(observed: Json, policy: Json) -> list[str]:
    """Return the Backups that a pass deletes."""
    schedule = {
        "apiVersion": "core.matrixorigin.io/v1alpha1",
        "kind": "BackupSchedule",
        "metadata": {
            "name": "s",
            "namespace": "prod",
            "uid": "u",
            "creationTimestamp": text(START),
        },
        "spec": {
            "schedule": "0 3 * * *",
            "retention": policy,
            "template": {
                "source": {"clusterRef": "mo"},
                "target": {"s3": {"path": "b", "endpoint": "http://minio:9000"}},
            },
        },
    }
    plan = kind_of(schedule).plan(schedule, copy.deepcopy(observed))
    assert plan.invalid == ""
    return [one["metadata"]["name"] for one in plan.remove]


WORLDS = st.builds(world, KNOWN, USED, USED, USED)


@given(WORLDS, POLICY)
def test_the_newest_restorable_of_each_source_stays(observed, policy):
    gone = set(deleted(observed, policy))
    restorable = whole(links.links_of(observed["backups"]))
    newest: dict[str, str] = {}
    for link in restorable:
        newest.setdefault(link.source, link.name)
    assert not gone & set(newest.values())


@given(WORLDS, POLICY)
def test_what_is_in_use_stays_and_so_do_its_bases(observed, policy):
    gone = set(deleted(observed, policy))
    stays = {one["metadata"]["name"] for one in observed["backups"]} - gone
    by_name = {one["metadata"]["name"]: one for one in observed["backups"]}
    left = {**observed, BACKUPS: [by_name[name] for name in sorted(stays)]}
    everything = users.Everything.of(left)
    assert everything is not None
    for name in gone:
        users_left = list(users.users_of(by_name[name], everything))
        assert [one for one in users_left if "has the same data" not in one] == []


@given(st.builds(world, ANY, USED, USED, USED), POLICY)
def test_nothing_goes_while_one_is_unknown(observed, policy):
    if links.unclear(observed["backups"]):
        assert deleted(observed, policy) == []


@given(WORLDS, POLICY, st.integers(0, 9), st.sampled_from(["status", "time", "meta", "lists"]))
def test_less_information_never_deletes_more(observed, policy, number, lost):
    before = set(deleted(observed, policy))
    less = copy.deepcopy(observed)
    one = less["backups"][number % len(less["backups"])]
    if lost == "status":
        one.pop("status", None)
    elif lost == "time":
        one["meta"]["atTime"] = ["", "soon", "99999-01-01T00:00:00Z"][number % 3]
    elif lost == "meta":
        one.pop("meta")
    else:
        less[list(users.references())[number % 4]] = None
    assert set(deleted(less, policy)) <= before


@given(WORLDS, POLICY, USED)
def test_more_users_never_delete_more(observed, policy, more):
    before = set(deleted(observed, policy))
    jobs = [user("RestoreJob", backupName=name) for name in sorted(more)]
    assert set(deleted({**observed, RESTORE_JOBS: observed[RESTORE_JOBS] + jobs}, policy)) <= before
    assert not set(deleted({**observed, RESTORE_JOBS: jobs}, policy)) & more


@given(WORLDS, POLICY)
def test_a_second_pass_deletes_no_more(observed, policy):
    gone = set(deleted(observed, policy))
    stays = [one for one in observed["backups"] if one["metadata"]["name"] not in gone]
    assert deleted({**observed, "backups": stays, BACKUPS: stays}, policy) == []
