# SPDX-License-Identifier: Apache-2.0
"""Find out where a database answers SQL, and how to log in there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..api import names
from ..clients.kubernetes.applying import Writer
from ..clients.sql import Entrance
from .credentials import is_ours
from .rendering import credential_secret
from .root_credential import Login, login_of

Json = dict[str, Any]


def find_secret(writer: Writer, resource: Mapping[str, Any], name: str) -> Json | None:
    """Return a Secret in the namespace of a cluster."""
    place = {"namespace": resource["metadata"]["namespace"], "name": name}
    return writer.get({"apiVersion": "v1", "kind": "Secret", "metadata": place})


def entrance(writer: Writer, resource: Mapping[str, Any], service: str, login: Login) -> Entrance:
    """Return where and how to log in, by address: names are known in the cluster only.

    Raises:
        ValueError: there is no such Service.
    """
    place = {"namespace": resource["metadata"]["namespace"], "name": service}
    found = writer.get({"apiVersion": "v1", "kind": "Service", "metadata": place})
    if found is None:
        raise ValueError(f"Service {service} does not exist")
    return Entrance(
        host=found["spec"]["clusterIP"],
        port=names.PORT_SQL,
        user=login.user,
        password=login.password,
    )


def root_login(writer: Writer, resource: Mapping[str, Any]) -> Login:
    """Return the root login that the database accepts, as far as that is known.

    Raises:
        ValueError: there is none.
    """
    record = find_secret(writer, resource, names.accepted_name(resource["metadata"]["name"]))
    known = record if record is not None and is_ours(record) else None
    found = known or find_secret(writer, resource, credential_secret(resource))
    if found is None:
        raise ValueError("the root credential does not exist")
    return login_of(found)
