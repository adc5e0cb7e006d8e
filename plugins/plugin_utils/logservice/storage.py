# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the object store of a LogSet answers to its credential, or the check of its folder."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from ...module_utils.api.fields import Fields
from ...module_utils.api.storage_answer import StorageAnswer
from ...module_utils.clients.kubernetes.errors import KubeError
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.objectstore.asking import Bucket
from ...module_utils.clients.objectstore.signing import Signer
from ...module_utils.location.locations import DEFAULT_REGION, endpoint
from ...module_utils.logservice.folder_check import answer_of, reference
from ...module_utils.reporting.storage import is_not_asked
from ...module_utils.workload.storage import bucket_and_prefix, is_bucket_in_path
from ..kubernetes.observing import fetch, fetch_raw

_KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


def ask_storage(
    session: Session, resource: Mapping[str, Any], seconds: float, now: float
) -> StorageAnswer | None:
    """Return what the object store of a LogSet answers, or the Pod that writes to its folder.

    Args:
        session: connection to the API server, for the Secret or the Pod.
        resource: the LogSet.
        seconds: for all requests to the object store.
        now: the present, Unix time.

    Returns:
        None where nobody can tell.
    """
    bucket = bucket_of(session, resource)
    if bucket is not None:
        return bucket.ask(seconds)
    return answer_of(fetch(session, "the storage check", reference(resource)), now)


def bucket_of(session: Session, resource: Mapping[str, Any]) -> Bucket | None:
    """Return where a LogSet has its data, with its credential if it may be used; None for a folder.

    Raises:
        InvalidSpec: the spec names no bucket.
    """
    s3 = Fields("spec", resource.get("spec") or {}).table("sharedStorage").table("s3")
    if not s3.data:
        return None
    bucket, prefix = bucket_and_prefix(s3)
    return Bucket(
        endpoint=endpoint(s3),
        bucket=bucket,
        prefix=prefix,
        by_path=is_bucket_in_path(s3.text("type")),
        signer=None if is_not_asked(resource) else _signer(session, resource, s3),
    )


def _signer(session: Session, resource: Mapping[str, Any], s3: Fields) -> Signer | None:
    """Return who signs; None where the Pods have a credential that only they can use."""
    named = {
        "api_version": "v1",
        "kind": "Secret",
        "name": s3.table("secretRef").text("name"),
        "namespace": resource["metadata"]["namespace"],
        "if_allowed": True,
    }
    if not named["name"]:
        return None
    try:
        secret = fetch_raw(session, "the Secret of the object store", named)
        data = (secret or {}).get("data") or {}
        access_key, secret_key = (base64.b64decode(data[key]).decode() for key in _KEYS)
    except (KubeError, KeyError, UnicodeDecodeError, binascii.Error):
        return None
    return Signer(access_key, secret_key, s3.text("region") or DEFAULT_REGION)
