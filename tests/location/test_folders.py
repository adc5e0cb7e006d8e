# SPDX-License-Identifier: Apache-2.0
"""Where a shared folder cannot be: the mounts are those that are rendered."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    KINDS,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location import folders
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.kind import PassEnd

from tests.support import resources as r

FULL: dict[str, Any] = {"memoryFsSize": "1Gi"}
CERTIFICATES = {"certificateRef": {"name": "ca", "files": ["ca.crt"]}}


def _mounts(objects: list[r.Json]) -> set[str]:
    """Return where the containers of all Pods have volumes."""
    pods = [one["spec"]["template"]["spec"] for one in objects if "template" in one.get("spec", {})]
    return {
        mount["mountPath"]
        for pod in pods
        for container in [*pod["containers"], *pod.get("initContainers", [])]
        for mount in container.get("volumeMounts", [])
    }


def test_the_mounts_of_the_operator_are_those_that_are_rendered() -> None:
    storage, tls = {"sharedStorage": {"s3": CERTIFICATES}}, {"secretRef": {"name": "mo-tls"}}
    log_set = r.logset(**FULL, **storage)
    sets = [log_set, r.dnset(**FULL), r.cnset(**FULL), r.proxyset(tls=tls)]
    rendered = set().union(*(_mounts(r.render(one, log_set=log_set)) for one in sets))
    assert rendered <= set(names.OWN_MOUNTS)
    assert set(names.OWN_MOUNTS) - rendered == set()


@pytest.mark.parametrize("mount", [*names.OWN_MOUNTS, tasks.FOLDER, names.DATA_DIR])
def test_no_folder_is_at_above_or_inside_a_mount(mount: str) -> None:
    for path in (mount, mount.rpartition("/")[0] or "/", f"{mount}/deeper"):
        assert folders.folder_mistake(path), path


@pytest.mark.parametrize(
    "path",
    ["/shared", "/var/lib/matrixone-shared", "/mnt/a", "/data", "/tmpfs", "/home/mo", "/srv"],
)
def test_other_folders_are_free(path: str) -> None:
    assert folders.folder_mistake(path) == ""


def _log_set(path: str, *, claims: bool = True) -> r.Json:
    files = {"path": path, **({"claim": {"size": "1Gi"}} if claims else {})}
    return r.logset(sharedStorage={"s3": r.DELETE, "fileSystem": files})


@pytest.mark.parametrize(
    ("path", "new", "in_use"),
    [
        ("/shared", "", ""),
        ("/var/lib/matrixone", "must not be", "must not be"),
        ("/var/lib/matrixone/data", "must not be", "must not be"),
        ("/tmp", "must not be", "must not be"),
        ("/var/lib/matrixone/shared", "must not be", ""),
        ("/var/lib", "must not contain /var/lib/matrixone", ""),
        ("/etc", "must not", ""),
        ("/", "absolute path below the root", ""),
        ("/a/../b", "write '/b'", ""),
        ("shared", "absolute path", "absolute path"),
    ],
)
def test_what_runs_may_stay_where_its_pods_share_it(path: str, new: str, in_use: str) -> None:
    """Only a new database is told where it cannot be; one that runs where nothing is shared, too."""
    log_set, kind = _log_set(path), KINDS[names.LOG_SET]
    for said, expected in (
        (kind.judge.invalid(log_set), new),
        (kind.judge.invalid(log_set, in_use=True), in_use),
    ):
        assert expected in said
        assert bool(expected) == bool(said)
        assert not said or said.startswith("spec.sharedStorage.fileSystem.path: ")


@pytest.mark.parametrize(
    ("mount", "refused"),
    [(None, True), ("/shared", False), ("/", False), ("/share", True), ("/shared/deeper", True)],
)
def test_without_a_volume_the_overlay_has_to_bring_it(mount: str | None, refused: bool) -> None:
    kind = KINDS[names.LOG_SET]
    log_set = _log_set("/shared", claims=False)
    if mount is not None:
        mounts = [{"name": "nfs", "mountPath": mount}]
        log_set["spec"]["overlay"] = {"volumes": [{"name": "nfs"}], "volumeMounts": mounts}
    assert ("each Pod would have data of its own" in kind.judge.invalid(log_set)) is refused
    assert not kind.judge.invalid(log_set, in_use=True)


@pytest.mark.parametrize(
    "observed",
    [
        {"workload": {"metadata": {"name": "mo-log"}, "spec": {}}},
        {"workload": None, "pods": [{"metadata": {"name": "mo-log-0"}, "spec": {}, "status": {}}]},
        {"workload": None, "claims": [{"metadata": {"name": "mo-data-mo-log-0"}, "spec": {}}]},
        {},
    ],
    ids=["workload", "Pods", "volumes", "new"],
)
def test_a_set_that_has_anything_is_in_use(observed: r.Json) -> None:
    plan = KINDS[names.LOG_SET].plan(_log_set("/var/lib/matrixone/shared"), observed)
    assert ("must not be /var/lib/matrixone" in plan.invalid) is (not observed)


def test_a_database_whose_pods_share_nothing_is_left_alone_and_says_so() -> None:
    log_set, kind = _log_set("/var/lib/matrixone"), KINDS[names.LOG_SET]
    log_set["metadata"] |= {"generation": 1, "uid": "u"}
    observed = {"pods": [{"metadata": {"name": "mo-log-0"}, "spec": {}, "status": {}}]}
    plan = kind.plan(log_set, observed)
    assert (list(plan.objects), list(plan.records), plan.prune) == ([], [], None)
    status = kind.reporter.report(PassEnd(log_set, plan, {**observed, "workload": None})).status
    told = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert told["Synced"] == ("False", "InvalidSpec")
