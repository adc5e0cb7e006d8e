# SPDX-License-Identifier: Apache-2.0
"""The demo's backup: its place, its BackupJob and what is shown of it, and what can be restored."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo import backups, object_storage, operator_process
from demo.stages import CLUSTER
from testbed import ObjectStore, database
from testbed.places import Places
from testbed.processes import Launcher
from tests.support.places import ROOT

STORE = ObjectStore("10.1.0.1", 7070, Path("/none"), "the-key", "the-secret")
EXAMPLE = yaml.safe_load((ROOT / "examples" / "tiny-cluster.yaml").read_text())


def job(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": backups.JOB}, "status": status}


def test_compute_nodes_and_the_job_mount_one_volume_at_one_path() -> None:
    """MatrixOne writes the backup there, and the Job verifies it."""
    changed = backups.on_volumes(EXAMPLE)
    [overlay] = [group.pop("overlay") for group in changed["spec"]["cnGroups"]]
    assert changed == EXAMPLE
    target = backups.job(None)["spec"]["target"]["fileSystem"]
    [volume], [mount] = overlay["volumes"], overlay["volumeMounts"]
    assert volume == {"name": mount["name"], **target["volume"]}
    assert volume["persistentVolumeClaim"]["claimName"] == backups.claim()["metadata"]["name"]
    assert target["path"].startswith(f"{mount['mountPath']}/")
    assert target["mountPath"] == mount["mountPath"]


@pytest.mark.parametrize(
    ("tag", "data", "backup"),
    [("1.3.0", "minio", "minio"), ("2.0.1", "minio", "aws"), ("3.0.18", "aws", "aws")],
)
def test_a_backup_on_s3_is_beside_the_data(
    monkeypatch: pytest.MonkeyPatch, tag: str, data: str, backup: str
) -> None:
    monkeypatch.setattr(database, "chosen", lambda: database.Database(tag))
    target = backups.job(STORE)["spec"]["target"]["s3"]
    storage = object_storage.on_s3(EXAMPLE, STORE)["spec"]["logService"]["sharedStorage"]["s3"]
    assert (storage.pop("type"), target.pop("type")) == (data, backup)
    assert (storage.pop("path"), target.pop("path")) == ("matrixone/mo", f"backups/{backups.JOB}")
    assert storage == target
    assert "the-secret" not in json.dumps(target)


@pytest.mark.parametrize("store", [None, STORE])
def test_a_restored_cluster_is_the_demos_with_storage_of_its_own(store: ObjectStore | None) -> None:
    demo = object_storage.on_s3(EXAMPLE, store) if store else backups.on_volumes(EXAMPLE)
    before = json.dumps(demo)
    restored = backups.restored(demo, "mo-full-1a2b")
    assert json.dumps(demo) == before
    assert restored["metadata"].pop("name") != CLUSTER
    assert restored["spec"].pop("restoreFrom") == "mo-full-1a2b"
    assert restored["spec"].pop("credentialSecretRef") == {"name": f"{CLUSTER}-credential"}
    if store:
        storage = restored["spec"]["logService"]["sharedStorage"]["s3"]
        assert storage["path"] == "matrixone/restored"
        storage["path"] = "matrixone/mo"
    assert restored["spec"] == demo["spec"]


@pytest.mark.parametrize(
    ("resource", "line", "name", "failure"),
    [
        ({}, "", "", ""),
        (job(), "", "", ""),
        (
            job(phase="Pending", message="waiting for mo"),
            "backup: Pending (waiting for mo)",
            "",
            "",
        ),
        (job(phase="Running", step="Verify", size="2Mi"), "backup: Running Verify 2Mi", "", ""),
        (job(phase="Running", backup="mo-full-1"), "backup: Running", "", ""),
        (
            job(phase="Completed", step="Record", backup="mo-full-1", message="complete"),
            "backup: Completed Record",
            "mo-full-1",
            "",
        ),
        (job(phase="Failed", message="no space"), "backup: Failed", "", "no space"),
        (job(phase="Failed"), "backup: Failed", "", "it gives no reason"),
    ],
)
def test_a_job_is_shown_as_it_is(
    resource: dict[str, Any], line: str, name: str, failure: str
) -> None:
    assert backups.line(resource) == line
    assert backups.name(resource) == name
    assert backups.failure(resource) == failure


@pytest.mark.parametrize(("image", "expected"), [("one:1", "one:1"), ("", None)])
def test_the_operator_knows_its_image_and_writes_into_the_demos_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, image: str, expected: str | None
) -> None:
    """Nothing stays behind in /tmp when the demo is removed."""
    started: dict[str, Any] = {}

    def start(_: Launcher, name: str, argv: list[Any], env: dict[str, str]) -> None:
        started.update(name=name, argv=argv, env=env)

    monkeypatch.setattr(Launcher, "start", start)
    monkeypatch.setattr(operator_process, "_wait_until_ready", lambda *_: None)
    launcher = Launcher(Places(tmp_path), "identity")
    operator_process.start(launcher, ROOT, tmp_path / "kubeconfig", image, lambda _: None)
    argv = [str(word) for word in started["argv"]]
    assert argv[argv.index("--run-directory") + 1] == str(tmp_path / "runs")
    assert started["env"].get("OPERATOR_IMAGE") == expected
