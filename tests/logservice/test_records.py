# SPDX-License-Identifier: Apache-2.0
"""What decides about stores is written only in place of what was read."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.plans import named

from tests.support import resources as r
from tests.support.passes import plan_of

Json = dict[str, Any]
NAME = "mo"
CLAIM = f"mo-data-{NAME}-log-0"


def log_set(*, is_recorded: bool) -> Json:
    """Return a LogSet in the cluster, that knows its founders or not."""
    made = r.logset()
    annotations = {"logset.matrixorigin.io/bootstrap": '[{"ordinal":0,"replicaId":131072}]'}
    made["metadata"] |= {"uid": "u-1", "annotations": annotations if is_recorded else {}}
    return made


def existing(kind: str, name: str, **more: Any) -> Json:
    return {"kind": kind, "metadata": {"name": name, "namespace": "default", "uid": name}, **more}


def writes(*, is_recorded: bool, versions: tuple[str, str, str, str]) -> dict[str, Any]:
    """Return the resourceVersion of each write of a pass that decides about stores, by object.

    Args:
        is_recorded: whether the LogSet knows its founders.
        versions: of the LogSet, a claim of a store, its configuration and the BucketClaim as the
            pass has read them; empty where they come from no API server.
    """
    made = log_set(is_recorded=is_recorded)
    read = {
        "self": made,
        "claims": existing("PersistentVolumeClaim", CLAIM),
        "gossip": existing("ConfigMap", f"{NAME}-log-gossip"),
        "bucket": {**existing("BucketClaim", "bucket-u-1"), "status": {"state": "InUse"}},
    }
    for found, version in zip(read.values(), versions, strict=True):
        found["metadata"] |= {"resourceVersion": version} if version else {}
    plan = plan_of(made, {**read, "claims": [read["claims"]]}, "")
    written = [*plan["records"], *plan["objects"], *plan["patches"]]
    watched = {f"LogSet/{NAME}", *(named(found) for found in read.values())}
    return {
        named(one): one["metadata"].get("resourceVersion")
        for one in written
        if named(one) in watched
    }


@pytest.mark.parametrize("versions", [("7", "8", "9", "10"), ("", "", "", "")])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_what_decides_about_stores_is_written_as_it_was_read(
    is_recorded: bool, versions: tuple[str, str, str, str]
) -> None:
    founders, claim, gossip, bucket = (version or None for version in versions)
    expected = {
        f"PersistentVolumeClaim/{CLAIM}": claim,
        f"ConfigMap/{NAME}-log-gossip": gossip,
        "BucketClaim/bucket-u-1": bucket,
    }
    recorded = {} if is_recorded else {f"LogSet/{NAME}": founders}

    assert writes(is_recorded=is_recorded, versions=versions) == expected | recorded
