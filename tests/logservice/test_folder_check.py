# SPDX-License-Identifier: Apache-2.0
"""The Pod that writes to a shared folder: how it is made, what it does, and what it tells."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.folder_check import (
    answer_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.rendering import (
    render_logset,
)

from tests.support import resources as r
from tests.support.builders import NOW, pod
from tests.support.waiting import eventually

Json = dict[str, Any]
PRESENT = unix_time(NOW)
SHARED = {"volumeMounts": [{"name": "nfs", "mountPath": "/mnt"}], "volumes": [{"name": "nfs"}]}
SHARED["volumes"][0]["nfs"] = {"server": "files", "path": "/"}


def deployments(storage: Json, **spec: Any) -> list[Json]:
    """Return what is rendered to check a shared storage."""
    resource = r.logset(**spec)
    resource["spec"]["sharedStorage"] = storage
    return [
        one for one in render_logset(resource, start_script=r.SCRIPT) if one["kind"] == "Deployment"
    ]


def folder(**more: Any) -> Json:
    return {"fileSystem": {"path": "/mnt/shared", **more}}


@pytest.mark.parametrize(
    ("storage", "overlay", "mount", "volume"),
    [
        (
            folder(claim={"size": "1Gi"}),
            {},
            "/mnt/shared",
            {"persistentVolumeClaim": {"claimName": "mo-shared"}},
        ),
        (
            folder(volume={"hostPath": {"path": "/a"}}),
            {},
            "/mnt/shared",
            {"hostPath": {"path": "/a"}},
        ),
        (folder(), SHARED, "/mnt", {"nfs": {"server": "files", "path": "/"}}),
    ],
    ids=["claim", "volume", "by the overlay, at a folder above"],
)
def test_it_mounts_what_the_log_stores_mount(
    storage: Json, overlay: Json, mount: str, volume: Json
) -> None:
    (found,) = deployments(storage, overlay=overlay)
    spec = found["spec"]["template"]["spec"]
    mounted = next(one for one in spec["volumes"] if one["name"] != "tmp")
    assert {key: value for key, value in mounted.items() if key != "name"} == volume
    paths = {one["name"]: one["mountPath"] for one in spec["containers"][0]["volumeMounts"]}
    assert paths == {mounted["name"]: mount, "tmp": "/tmp"}


@pytest.mark.parametrize(
    "storage",
    [{"s3": r.S3}, folder(), {"fileSystem": {"path": "/tmp/a"}}],
    ids=["object store", "mounted nowhere", "of each Pod alone"],
)
def test_what_is_no_shared_folder_is_not_written(storage: Json) -> None:
    assert deployments(storage) == []


def test_it_runs_where_log_stores_may_and_is_none_of_them() -> None:
    overlay = {
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {"a": "b"}, "podAntiAffinity": {"c": "d"}},
        "imagePullSecrets": [{"name": "keys"}],
    }
    (found,) = deployments(
        folder(claim={"size": "1Gi"}), overlay=overlay, nodeSelector={"disk": "fast"}
    )
    spec = found["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"disk": "fast"}
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["imagePullSecrets"] == [{"name": "keys"}]
    assert spec["affinity"]["nodeAffinity"] == {"a": "b"}
    assert "podAntiAffinity" not in spec["affinity"]
    labels = found["spec"]["template"]["metadata"]["labels"]
    assert not [label for label in labels if label.startswith("matrixorigin.io/")]


@pytest.mark.parametrize(("replicas", "expected"), [(3, 1), (0, 0)])
def test_it_stops_with_its_log_service(replicas: int, expected: int) -> None:
    (found,) = deployments(folder(claim={"size": "1Gi"}), replicas=replicas)
    assert found["spec"]["replicas"] == expected


def checking(*, ready: bool, since: float, **more: Any) -> Json:
    """Return the Pod, whose container has run for some seconds."""
    found = pod("mo-log-storage-check-1", ready=ready, **more)
    (container,) = found["status"]["containerStatuses"]
    container["ready"] = ready
    if "running" in container["state"]:
        container["state"]["running"]["startedAt"] = timestamp(PRESENT - since)
    return found


LOST = checking(ready=False, since=60)
LOST["status"]["containerStatuses"][0]["ready"] = True
LEAVING = checking(ready=False, since=60, metadata={"deletionTimestamp": NOW})


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([], None),
        ([checking(ready=True, since=1)], StorageAnswer.WRITABLE),
        ([checking(ready=False, since=60)], StorageAnswer.REFUSED),
        ([checking(ready=False, since=19)], None),
        ([checking(ready=False, since=60, waiting="ImagePullBackOff")], None),
        ([LOST], None),
        ([LEAVING], None),
        ([LEAVING, checking(ready=True, since=1)], StorageAnswer.WRITABLE),
    ],
    ids=[
        "none yet",
        "has written",
        "cannot write",
        "has just started",
        "does not run",
        "its node is lost",
        "is deleted",
        "replaced",
    ],
)
def test_what_a_pod_tells(pods: list[Json], expected: StorageAnswer | None) -> None:
    """Only a process that ran long enough to write, and did not, tells that it cannot."""
    assert answer_of(pods, PRESENT) is expected


def test_the_process_writes_fails_and_recovers(tmp_path: Path) -> None:
    shared, own, said = tmp_path / "shared", tmp_path / "tmp", tmp_path / "said"
    shared.mkdir()
    own.mkdir()
    (found,) = deployments(folder(claim={"size": "1Gi"}))
    (container,) = found["spec"]["template"]["spec"]["containers"]

    def here(command: list[str]) -> list[str]:
        return [part.replace("/tmp", str(own)).replace("sleep 3", "sleep 0.1") for part in command]

    def has_written() -> bool:
        probe = here(container["readinessProbe"]["exec"]["command"])
        return subprocess.run(probe, check=False, timeout=10).returncode == 0

    def awaits(expected: Callable[[], bool], what: str) -> None:
        eventually(expected, 20, what)

    with said.open("w") as output, subprocess.Popen(
        here(container["command"]), env={"FOLDER": str(shared), "PATH": "/usr/bin:/bin"},
        stdout=output,
    ) as process:  # fmt: skip
        awaits(has_written, "a first file")
        shared.rename(tmp_path / "away")
        awaits(lambda: not has_written(), "no file")
        (tmp_path / "away").rename(shared)
        awaits(has_written, "a file again")
        awaits(lambda: said.read_text().endswith(" again\n"), "the word that it can be written")
        process.terminate()
        process.wait(10)
    lines = said.read_text().splitlines()
    assert lines[0].startswith(f"{shared} cannot be written: ")
    assert "No such file or directory" in said.read_text()
    assert lines[-1] == f"{shared} can be written again"
    assert process.returncode == 0


def test_a_process_that_hangs_is_seen_by_the_age_of_its_last_file(tmp_path: Path) -> None:
    (found,) = deployments(folder(claim={"size": "1Gi"}))
    (container,) = found["spec"]["template"]["spec"]["containers"]
    probe = [
        part.replace("/tmp", str(tmp_path))
        for part in container["readinessProbe"]["exec"]["command"]
    ]
    for age, expected in ((0, 0), (30, 1)):
        (tmp_path / "written").write_text(f"{int(time.time()) - age}\n")
        assert subprocess.run(probe, check=False, timeout=10).returncode == expected
