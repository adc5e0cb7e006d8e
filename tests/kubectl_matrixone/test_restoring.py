# SPDX-License-Identifier: Apache-2.0
"""A cluster from a Backup: what it shares with the old one, and what is its own."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubectl_matrixone.creating import written
from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.restoring import (
    Proving,
    Restoring,
    restored,
    source_of,
    verification_job,
)

from . import objects

Json = dict[str, Any]
GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
CLAIM = {"fileSystem": {"path": "/shared", "claim": {"size": "10Gi"}}}
VOLUME = {"fileSystem": {"path": "/shared", "volume": {"nfs": {"server": "nfs", "path": "/mo"}}}}
NEW = Restoring("new", "shop")


def backup(**meta: Any) -> Json:
    one = objects.backup("mo-full-1", "2026-11-27T02:00:00Z")
    location = {"s3": {"path": "backups/mo/full", "secretRef": {"name": "backup-store"}}}
    raw = '{"matrixoneVersion":"3.0.18"}'
    one["meta"].update(location=location, secretNamespace="shop", raw=raw, **meta)
    return one


def old(storage: Json | None = None, **spec: Any) -> Json:
    """Return the cluster that was backed up, in the middle of an upgrade, of another cluster."""
    one = copy.deepcopy(objects.cluster())
    one["metadata"]["annotations"] = {"matrixorigin.io/paused": "true"}
    one["spec"] |= {
        "version": "3.1.0",
        "restoreFrom": "earlier",
        "hibernation": {"asleep": True},
        "upgrade": {
            "paused": True,
            "waive": {"to": "3.1.0", "checks": ["Backup"]},
            "canaryStatements": ["select 1"],
        },
        "proxy": {"replicas": 1, "serviceType": "NodePort", "nodePort": 30001},
        "cnGroups": [{"name": "tp", "replicas": 2}],
        **spec,
    }
    if storage:
        one["spec"]["logService"]["sharedStorage"] = storage
    return one


@pytest.mark.parametrize(
    ("name", "like"),
    [("restored", old()), ("restored-volume", old(CLAIM, logService={"sharedStorage": CLAIM}))],
)
def test_new_clusters_are_as_released(
    name: str, like: Json, request: pytest.FixtureRequest
) -> None:
    made = restored(backup(), like, NEW)
    text = written(made.manifest, "yaml") + "".join(f"# {note}\n" for note in made.notes)
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text(text)
    assert path.read_text() == text


def test_the_old_cluster_stays_as_it_is() -> None:
    like = old()
    before = copy.deepcopy(like)
    restored(backup(), like, NEW)
    assert like == before


@pytest.mark.parametrize(
    ("of", "like", "wanted", "said"),
    [
        ({}, old(VOLUME), NEW, "must not share it"),
        ({}, old({"s3": {"path": "mo"}}), NEW, "fill the bucket mo"),
        ({}, old(), Restoring("new", "elsewhere"), "shop/mo: name the Secret .* by --credential"),
        ({"sourceUid": "u-0"}, old(), NEW, "by --credential"),
        ({"sourceRef": "cnset/shop/mo"}, old(), NEW, "which is no MatrixOneCluster"),
    ],
    ids=["volume", "bucket", "namespace", "earlier-cluster", "cnset"],
)
def test_what_is_not_known_is_asked_for(of: Json, like: Json, wanted: Restoring, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        restored(backup(**of), like, wanted)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"phase": "Broken", "message": "a/b is missing"}, "is Broken, not Available: a/b is"),
        ({"phase": "Pending"}, "is Pending, not Available"),
        ({}, "is Unknown, not Available"),
    ],
)
def test_only_an_available_backup_is_restored(status: Json, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        restored({**backup(), "status": status}, old(), NEW)


def test_the_user_decides_about_place_secret_and_version() -> None:
    wanted = Restoring("new", "elsewhere", "other/place", "root-of-mo", "3.0.19")
    made = restored(backup(), old(), wanted)
    spec = made.manifest["spec"]
    assert spec["logService"]["sharedStorage"]["s3"]["path"] == "other/place"
    assert spec["credentialSecretRef"] == {"name": "root-of-mo"}
    assert spec["version"] == "3.0.19"
    assert made.manifest["metadata"] == {"name": "new", "namespace": "elsewhere"}
    notes = " ".join(made.notes)
    assert "Secret backup-store with the keys of the backup must exist in namespace elsewhere" in (
        notes
    )
    assert "the backup is of" not in notes


def test_another_release_is_noticed() -> None:
    made = restored(backup(), old(), Restoring("new", "shop", version="3.1.0"))
    assert "the backup is of 3.0.18; the new cluster runs 3.1.0" in made.notes


@pytest.mark.parametrize("raw", ["", "no json", "[]", "{}"])
def test_a_version_that_is_not_recorded_is_unknown(raw: str) -> None:
    one = backup()
    one["meta"]["raw"] = raw
    assert source_of(one).version == ""


def test_a_verification_is_a_restore_job(request: pytest.FixtureRequest) -> None:
    how = Proving("3.1.0", ("select count(*) from shop.orders",), "root-of-mo")
    texts = [
        written(verification_job(backup(), "shop", each, NOW), "yaml") for each in (Proving(), how)
    ]
    path = GOLDEN / "verification.txt"
    if request.config.getoption("--regenerate-golden", default=False):
        path.write_text("---\n".join(texts))
    assert path.read_text() == "---\n".join(texts)
