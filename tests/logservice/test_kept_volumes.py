# SPDX-License-Identifier: Apache-2.0
"""Volumes of log stores that are replaced: only those that their claims are really bound to."""

from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.log_set_objects import (
    LogSetObjects,
)

from tests.support.answers import Answers
from tests.support.builders import resource

Json = dict[str, Any]
OURS = {
    "metadata": {"name": "mo-data-mo-log-1", "namespace": "prod", "uid": "c-1"},
    "spec": {"volumeName": "pv-1"},
}


def volume(**claim: str) -> Json:
    reference = {"kind": "PersistentVolumeClaim", "namespace": "prod", **claim}
    spec = {"persistentVolumeReclaimPolicy": "Delete", "claimRef": reference}
    if not claim:
        del spec["claimRef"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1"},
        "spec": spec,
    }


def found(*objects: Json) -> list[str]:
    volumes = LogSetObjects(Answers(*objects), resource()).volumes([OURS])  # type: ignore[arg-type]
    return [one["metadata"]["name"] for one in volumes]


def test_the_volume_of_a_claim_is_the_one_that_is_bound_to_it():
    assert found(volume(uid="c-1")) == ["pv-1"]


def test_a_volume_that_a_claim_only_names_is_somebody_elses():
    """Who may create a claim may write any volume's name into it."""
    assert found(volume(uid="c-2")) == []
    assert found(volume()) == []
    assert found() == []
