# SPDX-License-Identifier: Apache-2.0
"""The Secret with the login of a user whose password nobody has chosen."""

from __future__ import annotations

from collections.abc import Mapping

from ..api import names
from ..api.types import Manifest, Resource
from ..cluster.credentials import is_ours, login_secret
from .spec import UserSpec


def secret_name(resource: Resource, spec: UserSpec) -> str:
    """Return the name of the Secret with the password of a user."""
    return spec.secret or f"{resource['metadata']['name']}-user"


def secret(resource: Resource, spec: UserSpec, password: str) -> Manifest:
    """Return the Secret of a user.

    It outlives the resource if the user does: nobody else knows the password.

    Args:
        resource: the DatabaseUser.
        spec: of it.
        password: created at random by the caller.
    """
    cluster = {"metadata": {**resource["metadata"], "name": spec.cluster}}
    kept = {} if spec.deletes else {names.ANNOTATION_KEEP: "true"}
    pairs = {"username": spec.user, "password": password}
    return login_secret(cluster, secret_name(resource, spec), pairs, kept)


def goes_along(found: Mapping[str, object] | None, spec: UserSpec) -> bool:
    """Return whether a Secret is deleted with the user: the operator has created it."""
    return found is not None and not spec.secret and is_ours(dict(found))
