# SPDX-License-Identifier: Apache-2.0
"""Find out where a database answers SQL, and how to log in there."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from ..api import names
from ..api.certificates import AUTHORITY, CERTIFICATE
from ..api.fields import Fields, as_table
from ..clients.kubernetes.applying import Writer
from ..clients.sql import Entrance
from ..workload.tls import secret_name
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
        ValueError: there is no such Service, or no certificate in the Secret for TLS.
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
        trusted=_trusted(writer, resource, service),
    )


def _trusted(writer: Writer, resource: Mapping[str, Any], service: str) -> str:
    """Return the certificates, in PEM, by which a proxy proves what it is; empty without TLS.

    It is asked with TLS as soon as the spec has it, and never without any more. Compute nodes are
    asked without: some versions of MatrixOne lose the beginning of a handshake there.

    Raises:
        ValueError: the Secret has no certificate.
    """
    spec, name = Fields("spec", resource.get("spec") or {}), resource["metadata"]["name"]
    secret = secret_name(spec)
    if not secret or service != names.base_name(names.PROXY_SET, name):
        return ""
    found = find_secret(writer, resource, secret) or {}
    others = [AUTHORITY] if as_table(found.get("data")).get(AUTHORITY) else []
    return "\n".join(pem_in(found, secret, key) for key in (CERTIFICATE, *others))


def pem_in(secret: Mapping[str, Any], name: str, key: str) -> str:
    """Return certificates in a Secret for TLS, in PEM.

    Args:
        secret: with its data.
        name: of the Secret, for the error.
        key: of the certificates.

    Raises:
        ValueError: it has none; the message does not contain what it has instead.
    """
    value = as_table(secret.get("data")).get(key)
    if not value:
        raise ValueError(f"Secret {name}, which spec.tls.secretRef names, has no {key}")
    try:
        return base64.b64decode(value, validate=True).decode("ascii")
    except ValueError:
        raise ValueError(f"Secret {name}, for TLS, holds no text") from None


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
