# SPDX-License-Identifier: Apache-2.0
"""Fetch what a reference names or selects, without anything secret."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ..api.belonging import allows, belongs
from ..api.certificates import certificate_of
from ..api.managed_fields import applied_by
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.differences import without_payload
from ..clients.kubernetes.editing import FIELD_MANAGER
from ..clients.kubernetes.errors import ApiError, BadManifest, NotFound
from ..clients.kubernetes.selecting import Selection
from ..clients.kubernetes.session import Session


def fetch(session: Session, label: str, reference: Mapping[str, Any]) -> Any:
    """Fetch one reference, as a task's result may hold it; see ``fetch_raw``."""
    return shown(fetch_raw(session, label, reference), reference)


def fetch_raw(session: Session, label: str, reference: Mapping[str, Any]) -> Any:
    """Fetch one reference whole; see ``_fetch``.

    One with ``if_allowed: true`` is None where the API server forbids to read it.
    """
    try:
        return _fetch(session, label, reference)
    except ApiError as error:
        if reference.get("if_allowed") and error.status == HTTPStatus.FORBIDDEN:
            return None
        raise


def _fetch(session: Session, label: str, reference: Mapping[str, Any]) -> Any:
    """Fetch one reference whole.

    Args:
        session: connection to the API server.
        label: what the reference is called, for messages.
        reference: api_version, kind, namespace, and name or labels, or both for an object that
            counts only if it has the labels or the owner ``owner_uid``, or a name and
            ``allowed_to`` for one that counts only if it is in this namespace or lists it;
            ``data: true`` asks for the data of a ConfigMap, ``certificate: true`` for what may be
            told of the certificate in a Secret, ``applied: true`` for the fields that
            this collection has applied, ``latest: true`` for a named object as the API server has
            it, not as a cache of the operator has it; ``without``: a label that listed objects must
            not have.

    Returns:
        The object or None for a name; a list for labels.

    Raises:
        BadManifest: the reference names neither an object nor labels.
    """
    if reference.get("name"):
        manifest = {
            "apiVersion": reference.get("api_version"),
            "kind": reference.get("kind"),
            "metadata": {"name": reference["name"], "namespace": reference.get("namespace")},
        }
        try:
            reader = Writer(session)
            read = reader.latest if reference.get("latest") else reader.get
            found = read(manifest)
        except NotFound:
            return None
        return found if found is not None and _counts(found, reference) else None
    if "labels" not in reference:
        raise BadManifest(f"reference {label}: name or labels is needed")
    selection = Selection(
        api_version=reference.get("api_version") or "",
        kind=reference.get("kind") or "",
        namespace=reference.get("namespace"),
        labels=reference["labels"],
        owner_uid=reference.get("owner_uid") or "",
    )
    without = reference.get("without")
    listed = selection.list(session)
    return [one for one in listed if without not in (one["metadata"].get("labels") or {})]


def _counts(found: Mapping[str, Any], reference: Mapping[str, Any]) -> bool:
    required, owner = reference.get("labels"), reference.get("owner_uid") or ""
    referring = reference.get("allowed_to")
    # Without labels anybody's object is meant: a child of a cluster refers to itself and siblings.
    is_meant = not required or belongs(found, required, owner)
    return is_meant and (not referring or allows(found, referring))


def shown(found: Any, reference: Mapping[str, Any]) -> Any:
    """Leave out what a task's result must not hold, and what was not asked for.

    Args:
        found: an object, a list of them, or None.
        reference: how they were asked for.
    """
    if isinstance(found, list):
        return [shown(one, reference) for one in found]
    if found is None:
        return None
    kept = without_payload(found)
    if found.get("kind") == "ConfigMap" and reference.get("data") and "data" in found:
        kept["data"] = found["data"]
    if reference.get("certificate"):
        kept["certificate"] = certificate_of(found).as_fields()
    if reference.get("applied"):
        applied = applied_by(found, FIELD_MANAGER)
        kept["metadata"] = {**kept["metadata"], "managedFields": applied}
    return kept
