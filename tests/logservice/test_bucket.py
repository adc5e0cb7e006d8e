# SPDX-License-Identifier: Apache-2.0
"""Log stores wait until the path in the bucket is theirs, at the place where it is now."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import bucket
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.observed import (
    SetObserved,
)

Json = dict[str, Any]
S3 = {"path": "data/mo", "endpoint": "http://minio:9000"}
GRANTED = {"endpoint": "http://minio:9000", "path": "data/mo", "mark": "u"}


def log_set(**s3: str) -> Json:
    metadata = {"name": "mo", "namespace": "prod", "uid": "u-1"}
    return {"metadata": metadata, "spec": {"sharedStorage": {"s3": {**S3, **s3}}}}


def claim(status: Json, reason: str = "", **s3: str) -> Json:
    conditions = [{"type": "Synced", "status": "False", "reason": reason}] if reason else []
    return {"spec": {"s3": {**S3, **s3}}, "status": {**status, "conditions": conditions}}


MOVED = {"endpoint": "http://other:9000"}


@pytest.mark.parametrize(
    ("live", "s3", "waits"),
    [
        (None, {}, "the path is not granted yet"),
        (claim({"state": "Pending", "message": "marking the path"}), {}, "marking the path"),
        (claim({"state": "InUse"}), {}, ""),
        (claim({"state": "InUse", "granted": GRANTED}), {}, ""),
        # The claim of a LogSet that moves is changed first, and then granted.
        (claim({"state": "InUse", "granted": GRANTED}), MOVED, "new server"),
        (claim({"state": "InUse"}), MOVED, "new server"),
        (claim({"state": "InUse", "granted": GRANTED}, **MOVED), MOVED, "new server"),
        (claim({"state": "InUse", "granted": {**GRANTED, **MOVED}}, **MOVED), MOVED, ""),
        (claim({"state": "InUse", "granted": 7}), {}, ""),
    ],
)
def test_what_log_stores_wait_for(live: Json | None, s3: Json, waits: str) -> None:
    said = bucket.lack(log_set(**s3), SetObserved(bucket=live))
    assert (waits in said) if waits else said == "", said


@pytest.mark.parametrize(
    ("live", "after"),
    [
        (None, "2s"),
        (claim({"state": "Pending"}, "Waiting"), "2s"),
        (claim({"state": "Pending"}, "PathTaken"), "10s"),
        (claim({"state": "InUse"}), "1h"),
    ],
)
def test_when_it_is_looked_at_again(live: Json | None, after: str) -> None:
    assert bucket.requeue(log_set(), SetObserved(bucket=live), "1h") == after
