# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find out where a database answers SQL, and how to log in there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.api import names
from ...module_utils.clients.kubernetes.applying import Writer
from ...module_utils.clients.sql import Entrance
from ...module_utils.cluster.credentials import is_ours
from ...module_utils.cluster.rendering import credential_secret
from ...module_utils.cluster.root_credential import Login, login_of

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
