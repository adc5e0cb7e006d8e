# SPDX-License-Identifier: Apache-2.0
"""Where a backup goes, and what a list of Backups says."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_matrixone.commands.backups import lines
from kubectl_matrixone.creating import written
from kubectl_matrixone.errors import PluginError, UsageError
from kubectl_matrixone.saving import (
    Destination,
    Kind,
    Store,
    backup_job,
    chosen_destination,
    destinations,
    placed,
    records,
    timed_name,
)
from kubectl_matrixone.terminal import Style

from . import objects

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
NAME = "mo-20261127060000"
FOLDER = f"shop/mo/{NAME}"
KEYS = {"secretRef": {"name": "backup-store"}}
BUCKET = {"s3": {"type": "minio", "path": "backups", "endpoint": "http://minio:9000", **KEYS}}
CLAIM = {"persistentVolumeClaim": {"claimName": "backups"}}


def job(name: str, target: Json, cluster: str = "mo", **other: Any) -> Json:
    spec = {"source": {"clusterRef": cluster}, "target": target, **other}
    created = {"name": name, "creationTimestamp": other.pop("at", objects.BEGAN)}
    return {"metadata": created, "spec": spec}


def schedule(name: str, target: Json, cluster: str = "mo", **other: Any) -> Json:
    return {
        "metadata": {"name": name},
        "spec": {"template": job("", target, cluster, **other)["spec"]},
    }


def in_bucket(path: str, **other: Any) -> Json:
    return {"s3": {**BUCKET["s3"], "path": path, **other}}


def in_folder(path: str, mount: str = "/backups") -> Json:
    return {"fileSystem": {"path": path, "mountPath": mount, "volume": CLAIM}}


def known(*schedules: Json, jobs: tuple[Json, ...] = (), backups: tuple[Json, ...] = ()) -> Any:
    return destinations(objects.cluster(), schedules, jobs, backups)


def recorded(name: str, location: Json, **meta: Any) -> Json:
    one = objects.backup(name, meta.pop("at", "2026-11-27T02:00:00Z"))
    one["meta"].update(location=location, secretNamespace="shop", **meta)
    return one


@pytest.mark.parametrize(
    ("found", "origin", "path"),
    [
        (known(schedule("daily", BUCKET)), "BackupSchedule daily", f"backups/{FOLDER}"),
        (known(schedule("a", in_folder("/backups"))), "BackupSchedule a", f"/backups/{FOLDER}"),
        (
            known(
                schedule("of-other", BUCKET, "other"), jobs=(job("full", in_bucket("b/mo/full")),)
            ),
            "BackupJob full",
            f"b/mo/{NAME}",
        ),
        (
            known(
                jobs=(
                    job("new", in_bucket("b/new"), at="2026-11-27T00:00:00Z"),
                    job("old", in_bucket("b/mo/old")),
                )
            ),
            "BackupJob new",
            f"b/{NAME}",
        ),
        (
            known(jobs=(job("full", in_folder("/backups/mo/full/")),)),
            "BackupJob full",
            f"/backups/mo/{NAME}",
        ),
        (
            known(
                backups=(
                    recorded("newer", in_bucket("b/mo/newer"), serviceAccountName="writer"),
                    recorded("older", in_bucket("b/mo/older"), at="2026-11-20T02:00:00Z"),
                    objects.backup("elsewhere", "2026-11-27T05:00:00Z"),
                )
            ),
            "Backup newer",
            f"b/mo/{NAME}",
        ),
    ],
    ids=["schedule", "folder-of-schedule", "job", "newest-job", "folder-of-job", "backup"],
)
def test_a_backup_goes_where_the_others_are(
    found: list[Destination], origin: str, path: str
) -> None:
    place = placed(chosen_destination(found, "", "mo"), Store(), FOLDER)
    [fields] = place.target.values()
    assert (place.origin, fields["path"]) == (origin, path)
    assert fields.get("volume", CLAIM) == CLAIM
    assert fields.get("secretRef", KEYS["secretRef"]) == KEYS["secretRef"]


@pytest.mark.parametrize(
    ("found", "schedule", "said"),
    [
        ([], "", "it is not known where backups of MatrixOneCluster mo go"),
        (known(schedule("daily", BUCKET)), "weekly", "no BackupSchedule weekly"),
        (
            known(schedule("a", BUCKET), schedule("b", in_bucket("elsewhere"))),
            "",
            "choose by --schedule: a, b",
        ),
    ],
    ids=["nothing", "no-such", "several"],
)
def test_where_nothing_is_known_the_user_is_asked(
    found: list[Destination], schedule: str, said: str
) -> None:
    with pytest.raises(PluginError, match=said):
        chosen_destination(found, schedule, "mo")


def test_schedules_that_agree_are_one_destination() -> None:
    found = known(schedule("b", BUCKET), schedule("a", BUCKET))
    assert chosen_destination(found, "", "mo").origin == "BackupSchedule a"
    assert chosen_destination(found, "b", "mo").origin == "BackupSchedule b"


@pytest.mark.parametrize("path", ["backups", "/backups"])
def test_a_place_without_room_beside_it_is_refused(path: str) -> None:
    target = in_folder(path) if path.startswith("/") else in_bucket(path)
    [found] = known(jobs=(job("full", target),))
    with pytest.raises(PluginError, match="fills all of"):
        placed(found, Store(), FOLDER)


@pytest.mark.parametrize(
    ("found", "store", "target"),
    [
        (None, Store("b/x", secret="keys"), {"s3": {"path": "b/x", "secretRef": {"name": "keys"}}}),
        (
            None,
            Store("b/x", "minio", "http://m", "eu"),
            {"s3": {"type": "minio", "endpoint": "http://m", "region": "eu", "path": "b/x"}},
        ),
        (None, Store("/backups/x"), {"fileSystem": {"path": "/backups/x"}}),
        (known(schedule("a", BUCKET))[0], Store("b/x"), in_bucket("b/x")),
        (known(schedule("a", BUCKET))[0], Store("/x"), {"fileSystem": {"path": "/x"}}),
        (
            known(schedule("a", BUCKET))[0],
            Store("b/x", region="eu"),
            {"s3": {"region": "eu", "path": "b/x"}},
        ),
    ],
    ids=["keys", "store", "folder", "path-in-known", "folder-not-in-known", "nothing-of-known"],
)
def test_what_the_user_names_comes_first(
    found: Destination | None, store: Store, target: Json
) -> None:
    assert placed(found, store, FOLDER).target == target


def test_a_store_without_a_path_is_no_place() -> None:
    with pytest.raises(UsageError, match="--path"):
        placed(None, Store(endpoint="http://m"), FOLDER)
    with pytest.raises(UsageError, match="--path"):
        placed(None, Store(), FOLDER)


JOBS = {
    "backup-of-schedule": (
        known(
            schedule(
                "daily", BUCKET, serviceAccountName="writer", ttl="24h", deletionPolicy="Delete"
            )
        )[0],
        Kind(),
    ),
    "backup-incremental": (
        known(jobs=(job("full", in_bucket("b/mo/full")),))[0],
        Kind(is_incremental=True, is_verified=True),
    ),
    "backup-on-base": (
        known(backups=(recorded("mo-full", in_folder("/backups/full")),))[0],
        Kind(is_incremental=True, base="mo-full"),
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_jobs_are_as_released(name: str, request: pytest.FixtureRequest) -> None:
    found, kind = JOBS[name]
    text = written(
        backup_job(objects.cluster(), NAME, placed(found, Store(), FOLDER), kind), "yaml"
    )
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


BROKEN = {
    "phase": "Broken",
    "message": "an object is missing: a/b",
    "verification": {"result": "Failed", "reason": "TableUnreadable"},
}


def test_the_list_says_what_is_proven_and_what_is_wrong(request: pytest.FixtureRequest) -> None:
    listed = [
        *copy.deepcopy(objects.BACKUPS),
        objects.backup("mo-broken", "2026-11-26T02:00:00Z", **BROKEN),
        {**objects.backup("mo-new", "2026-11-27T05:59:00Z"), "status": {}},
    ]
    listed[0]["meta"].update(sourceUid="u-0", size="12Mi", type="incremental")
    found = list(records(listed, "shop", "mo", "u-1"))
    assert [one.name for one in found] == ["mo-new", "mo-daily-1", "mo-broken", "mo-old"]
    text = "\n".join(lines(found, NOW, Style())) + "\n"
    path = GOLDEN / "backups.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


def test_backups_are_chosen_by_namespace_and_cluster() -> None:
    def names(*arguments: str) -> set[str]:
        return {one.name for one in records(objects.BACKUPS, *arguments)}

    assert names("shop", "", "") == {"mo-old", "mo-daily-1", "of-another"}
    assert names("shop", "other", "") == {"of-another"}
    assert names("elsewhere", "", "") == set()
    assert names("", "", "") == {"mo-old", "mo-daily-1", "of-another"}
    assert lines([], NOW, Style()) == ["no Backup is known"]


NAMES = st.from_regex(r"[a-z]([a-z0-9-]{0,60}[a-z0-9])?", fullmatch=True)


@given(NAMES)
def test_names_of_jobs_are_as_long_as_the_kind_allows(name: str) -> None:
    made = timed_name(name, NOW)
    assert len(made) <= 52
    assert made.endswith("-20261127060000")
    assert "--2026" not in made
