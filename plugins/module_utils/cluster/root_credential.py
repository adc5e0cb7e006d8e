# SPDX-License-Identifier: Apache-2.0
"""The root credential of a running cluster: what its Secret asks for, what the database accepts.

A database takes the password of its Secret when it starts for the first time. To give it another
one later, the previous one is needed to log in; so that is kept in a Secret of its own.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..api import names
from ..api.types import Manifest, Resource
from .credentials import login_secret

BUILT_IN: Final = ("dump", "root")
"""Users that a new database has, both with the password that it was given."""

Secret = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Login:
    """A user of the database.

    Attributes:
        user: name of the user.
        password: never shown.
    """

    user: str
    password: str = field(repr=False)


def login_of(secret: Secret) -> Login:
    """Return the login in a Secret; a user that it lacks is the usual one, a password is empty.

    Raises:
        ValueError: what it holds is no text; the message does not contain it.
    """
    data = secret.get("data") or {}
    try:
        user, password = (
            base64.b64decode(data.get(key) or "").decode() for key in ("username", "password")
        )
    except (UnicodeDecodeError, binascii.Error):
        raise ValueError("username and password must be UTF-8") from None
    return Login(user or BUILT_IN[0], password)


def mistake_in(login: Login) -> str:
    """Return why a login cannot be given to the database; empty if it can.

    MatrixOne takes everything but an empty password; what is beyond ASCII, clients encode in
    different ways, and then their logins are refused.
    """
    for key, value in (("username", login.user), ("password", login.password)):
        if not value:
            return f"{key} is empty"
        if not (value.isascii() and value.isprintable()):
            return f"{key} has a character beyond printable ASCII, such as a line break at its end"
    return ""


def version_of(secret: Secret) -> str:
    """Return the version of a Secret, by which a change of it is seen."""
    return str(secret["metadata"].get("resourceVersion") or "")


def has_changed(credential: Secret | None, record: Secret | None) -> bool:
    """Return whether a Secret has changed since the database was last known to accept it.

    Args:
        credential: the Secret that the user sees; None where one is created in this pass.
        record: the Secret with what the database accepts.
    """
    if credential is None or record is None:
        return True
    annotations = record["metadata"].get("annotations") or {}
    return annotations.get(names.ANNOTATION_CREDENTIAL_VERSION) != version_of(credential)


def accepted(resource: Resource, login: Login, version: str, *, kept: bool) -> Manifest:
    """Return the Secret with the login that the database accepts.

    Args:
        resource: the MatrixOneCluster.
        login: the root user and its password.
        version: of the Secret that has the same.
        kept: it outlives the cluster, as the data that it opens.
    """
    pairs = {"username": login.user, "password": login.password}
    annotations = {
        names.ANNOTATION_CREDENTIAL_VERSION: version,
        **({names.ANNOTATION_KEEP: "true"} if kept else {}),
    }
    name = names.accepted_name(resource["metadata"]["name"])
    return login_secret(resource, name, pairs, annotations)


def alter(login: Login) -> tuple[str, tuple[str, ...]]:
    """Return the SQL that gives a user its password."""
    return ("alter user %s identified by %s", (login.user, login.password))


def siblings(known: Login, desired: Login) -> list[Login]:
    """Return the built-in users that may have the old password as well, with that password."""
    return [Login(user, known.password) for user in BUILT_IN if user != desired.user]


def restarted(deployment: str, namespace: str, version: str) -> Manifest:
    """Return the patch that recreates Pods which read the credential only when they start."""
    annotations = {names.ANNOTATION_CREDENTIAL_VERSION: version}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": deployment, "namespace": namespace},
        "spec": {"template": {"metadata": {"annotations": annotations}}},
    }
