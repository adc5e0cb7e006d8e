# SPDX-License-Identifier: Apache-2.0
"""What the object store of a LogSet answers to its credential, or the check of its folder."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api.fields import Fields
from ..api.storage_answer import StorageAnswer
from ..clients.kubernetes.errors import KubeError
from ..clients.kubernetes.session import Session
from ..clients.objectstore.s3_requests import Bucket
from ..clients.objectstore.signing import Signer
from ..location.locations import DEFAULT_REGION, endpoint
from ..passes.observing import fetch, fetch_raw
from ..reporting.storage import is_not_asked
from ..workload.storage import bucket_and_prefix, is_bucket_in_path
from .credential import outdated_credential
from .folder_check import answer_of, reference

_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def ask_storage(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    seconds: float,
    now: float,
) -> tuple[StorageAnswer | None, str | None]:
    """Return what the object store of a LogSet answers, or the Pod that writes to its folder.

    Args:
        session: connection to the API server, for the Secret or the Pod.
        resource: the LogSet.
        pods: its Pods.
        seconds: for all requests to the object store.
        now: the present, Unix time.

    Returns:
        The answer, and which Pods have former keys (see `Health.credential`); None for either where
        nobody can tell.
    """
    s3 = _s3_of(resource)
    if not s3.data:
        return answer_of(fetch(session, "the storage check", reference(resource)), now), None
    secret = secret_of(session, resource)
    credential = None if secret is None else outdated_credential(secret, pods)
    return bucket_of(resource, secret).ask(seconds), credential


def _s3_of(resource: Mapping[str, Any]) -> Fields:
    return Fields("spec", resource.get("spec") or {}).table("sharedStorage").table("s3")


def bucket_of(resource: Mapping[str, Any], secret: Mapping[str, Any] | None) -> Bucket:
    """Return where a LogSet has its data, with its credential if it may be used.

    Args:
        resource: the LogSet.
        secret: with its credential; None where it is not known, or not used.

    Raises:
        InvalidSpec: the spec names no bucket.
    """
    s3 = _s3_of(resource)
    bucket, prefix = bucket_and_prefix(s3)
    return Bucket(
        endpoint=endpoint(s3),
        bucket=bucket,
        prefix=prefix,
        by_path=is_bucket_in_path(s3.text("type")),
        signer=None if secret is None or is_not_asked(resource) else _signer(secret, s3),
    )


def secret_of(session: Session, resource: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the Secret with the credential of a LogSet; None where it has none, or is not asked.

    Pods may have a credential that only they can use.
    """
    s3 = _s3_of(resource)
    named = {
        "api_version": "v1",
        "kind": "Secret",
        "name": s3.table("secretRef").text("name"),
        "namespace": resource["metadata"]["namespace"],
        "if_allowed": True,
    }
    if not named["name"] or is_not_asked(resource):
        return None
    try:
        secret: Mapping[str, Any] | None = fetch_raw(
            session, "the Secret of the object store", named
        )
    except KubeError:
        return None
    return secret


def _signer(secret: Mapping[str, Any], s3: Fields) -> Signer | None:
    """Return who signs; None where the Secret has no usable keys."""
    data = secret.get("data") or {}
    try:
        access_key, secret_key = (base64.b64decode(data[key]).decode() for key in _KEYS)
    except (KeyError, UnicodeDecodeError, binascii.Error):
        return None
    return Signer(access_key, secret_key, s3.text("region") or DEFAULT_REGION)
