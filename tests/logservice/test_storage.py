# SPDX-License-Identifier: Apache-2.0
"""Where the object store of a LogSet is, and with whose credential it is asked."""

import base64
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.s3_requests import (
    Bucket,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.signing import (
    Signer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.storage_check import (
    ask_storage,
    bucket_of,
    secret_of,
)

from tests.support import resources as r
from tests.support.answers import Answers
from tests.support.builders import conditions

Json = dict[str, Any]
SECRET = "/api/v1/namespaces/prod/secrets/keys"
MINIO = {"type": "minio", "path": "/data/mo/", "endpoint": "http://s3", "region": "eu-1"}
NOT_ABORTED = ("StorageWritable", "Unknown", "UploadNotAborted")


def secret(**data: str) -> Json:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": "keys", "namespace": "prod"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}


KEYS = secret(AWS_ACCESS_KEY_ID="id", AWS_SECRET_ACCESS_KEY="hidden")
SIGNER = Signer("id", "hidden", "eu-1")


def logset(s3: Json) -> Json:
    found = r.logset()
    found["metadata"]["generation"] = 2
    found["spec"]["sharedStorage"] = {"s3": s3}
    return found


@pytest.mark.parametrize(
    ("s3", "expected"),
    [
        (
            {**MINIO, "secretRef": {"name": "keys"}},
            Bucket("http://s3", "data", "mo", True, SIGNER),
        ),
        (
            {"path": "data", "region": "eu-1", "secretRef": {"name": "keys"}},
            Bucket("s3.eu-1.amazonaws.com", "data", "", False, SIGNER),
        ),
        (MINIO, Bucket("http://s3", "data", "mo", True, None)),
    ],
    ids=["minio", "aws", "role of the Pods"],
)
def test_the_bucket_of_a_log_set(s3: Json, expected: Bucket) -> None:
    session = Answers(KEYS)
    resource = logset(s3)
    found = secret_of(session, resource)  # type: ignore[arg-type]
    assert bucket_of(resource, found) == expected
    assert session.asked == ([SECRET] if "secretRef" in s3 else [])


@pytest.mark.parametrize(
    "found",
    [[], [secret()], [secret(AWS_ACCESS_KEY_ID="id")], [{**KEYS, "data": {"A": "a"}}]],
    ids=["no Secret", "empty", "half", "others"],
)
def test_without_its_keys_a_store_is_asked_for_any_answer(found: list[Json]) -> None:
    session = Answers(*found)
    resource = logset({**MINIO, "secretRef": {"name": "keys"}})
    stored = secret_of(session, resource)  # type: ignore[arg-type]
    assert bucket_of(resource, stored) == Bucket("http://s3", "data", "mo", True, None)


@pytest.mark.parametrize(("generation", "signed"), [(2, False), (1, True)])
def test_a_store_whose_uploads_stay_is_asked_again_after_a_change(
    generation: int, signed: bool
) -> None:
    resource = logset({**MINIO, "secretRef": {"name": "keys"}})
    resource["status"] = {"conditions": conditions(NOT_ABORTED)}
    resource["status"]["conditions"][0]["observedGeneration"] = generation
    stored = secret_of(Answers(KEYS), resource)  # type: ignore[arg-type]
    found = bucket_of(resource, stored)
    assert (found.signer is not None) is signed


@pytest.mark.parametrize(("started", "outdated"), [("09:00", True), ("11:00", False)])
def test_the_secret_tells_which_pods_have_former_keys(
    started: str, outdated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bucket, "ask", lambda *_: StorageAnswer.WRITABLE)
    changed = {"time": "2026-11-25T10:00:00Z", "fieldsV1": {"f:data": {}}}
    stored = {**KEYS, "metadata": {**KEYS["metadata"], "managedFields": [changed]}}
    state = {"running": {"startedAt": f"2026-11-25T{started}:00Z"}}
    pod = {
        "metadata": {"name": "mo-log-0"},
        "status": {"containerStatuses": [{"name": "main", "state": state}]},
    }
    session, resource = Answers(stored), logset({**MINIO, "secretRef": {"name": "keys"}})

    answer, credential = ask_storage(session, resource, [pod], 1.0, 0.0)  # type: ignore[arg-type]

    assert answer is StorageAnswer.WRITABLE
    assert credential is not None
    assert ("mo-log-0 started before" in credential) is outdated
    assert session.asked == [SECRET]
    without = ask_storage(Answers(), logset(MINIO), [pod], 1.0, 0.0)  # type: ignore[arg-type]
    assert without == (StorageAnswer.WRITABLE, None)
