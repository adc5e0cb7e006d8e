# SPDX-License-Identifier: Apache-2.0
"""The spec of a DatabaseUser, read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..admission.shapes import Mistake
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Resource
from ..cluster import metric_user
from ..cluster.root_credential import BUILT_IN
from ..database_objects.naming import NAME_FIELD, name_in_database
from .privileges import CONNECT, Grant, Level, Place, grants_of

DELETE: Final = "Delete"
RETAIN: Final = "Retain"
ROLE_PREFIX: Final = "matrixorigin_user_"
RESERVED: Final = frozenset(
    {
        *BUILT_IN, metric_user.USER, metric_user.ROLE, "accountadmin", "internal", "mo_logger",
        "moadmin", "public", "sys",
    }
)  # fmt: skip
"""Users and roles of MatrixOne and of the operator: a user cannot be called like a role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSpec:
    """What a DatabaseUser asks for.

    Attributes:
        cluster: name of the MatrixOneCluster, in its namespace.
        user: name of the SQL user.
        secret: name of the Secret with the password; empty where the operator creates one.
        grants: what the user may do; ``connect`` is always among it.
        adopts: whether a user of this name that is there already is taken over.
        deletes: whether the user is dropped with the resource.
    """

    cluster: str
    user: str
    secret: str
    grants: frozenset[Grant]
    adopts: bool
    deletes: bool

    @property
    def role(self) -> str:
        """The role that has the privileges of the user.

        MatrixOne puts its name into statements of its own without quotes (`create table` of a user
        grants ownership to its role so), hence the hyphen is replaced by what no user's name has.
        """
        return f"{ROLE_PREFIX}{self.user.replace('-', '$')}"

    @classmethod
    def of(cls, resource: Resource) -> UserSpec:
        """Read a DatabaseUser.

        Raises:
            InvalidSpec: a field cannot be used.
        """
        spec = Fields("", resource).table("spec")
        policy = spec.choice("deletionPolicy", (RETAIN, DELETE), RETAIN)
        return cls(
            cluster=spec.table("clusterRef").required_text("name"),
            user=user_of(resource),
            secret=spec.table("passwordSecretRef").text("name"),
            grants=frozenset(_grants(spec)),
            adopts=spec.flag("adopt"),
            deletes=policy == DELETE,
        )


def user_of(resource: Resource) -> str:
    """Return the name of the SQL user: ``spec.name``, else that of the resource.

    Raises:
        InvalidSpec: it cannot be used.
    """
    name = name_in_database(resource)
    if name in RESERVED or name.startswith(ROLE_PREFIX):
        raise InvalidSpec(NAME_FIELD, f"{name} is a user or role of MatrixOne or of the operator")
    return name


def _grants(spec: Fields) -> Iterator[Grant]:
    yield Grant(Place(), Level.ACCOUNT, CONNECT)
    for entry in spec.tables("privileges"):
        yield from grants_of(entry.path, entry.required_text("target"), entry.texts("grant"))


def user_warnings(resource: Resource) -> list[str]:
    """Return what a user should know: who may read all may read what is secret, too."""
    try:
        spec = UserSpec.of(resource)
    except InvalidSpec:
        return []
    told = (Place(), Place("mo_catalog"), Place("mo_catalog", "mo_user"))
    return [
        f"spec.privileges: Select on {grant.place} shows the hashes of all passwords (mo_user)"
        for grant in sorted(spec.grants)
        if grant.place in told and grant.privilege == "select"
    ]


def user_mistakes(resource: Resource) -> Iterator[Mistake]:
    """Yield the first thing that is wrong with a DatabaseUser, beyond its schema."""
    try:
        UserSpec.of(resource)
    except InvalidSpec as error:
        yield Mistake(error.field_path, error.message)
