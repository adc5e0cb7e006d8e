# SPDX-License-Identifier: Apache-2.0
"""Write the Secrets that tell applications how to connect, and give up those that are obsolete."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..api.belonging import belongs
from ..api.certificates import AUTHORITY, CERTIFICATE
from ..api.types import Manifest, Resource
from ..clients.kubernetes.applying import Writer
from ..clients.kubernetes.errors import Foreign, KubeError
from ..clients.kubernetes.outcomes import Change, Outcome
from .connection import (
    Connection,
    Target,
    checked,
    connection_secret,
    identifying_labels,
    login_in,
    user_secret,
)
from .logins import find_secret, pem_in, root_login
from .rendering import credential_secret
from .root_credential import Login


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one Secret.

    Attributes:
        name: of the Secret.
        exists: whether it exists and is ours; None where it is as it was before.
        outcome: what was changed; None if it could not be.
        problem: why it is not as it should be; empty if it is.
    """

    name: str
    exists: bool | None = None
    outcome: Outcome | None = None
    problem: str = ""


def write(writer: Writer, resource: Resource, decided: Connection) -> Iterator[Written]:
    """Bring each Secret to what it should be; one that cannot be does not hold up the others.

    Args:
        writer: owned by the resource.
        resource: the MatrixOneCluster.
        decided: which Secrets should exist.
    """
    writer = replace(writer, identified_by=list(identifying_labels(resource)))
    login, problem = _login(writer, resource) if decided.targets else (None, "")
    for target in decided.targets:
        if login is None:
            yield Written(target.name, problem=problem)
        else:
            yield write_one(writer, resource, target, login)
    for name in decided.obsolete:
        try:
            yield Written(name, exists=False, outcome=_given_up(writer, resource, name))
        except KubeError as error:
            yield Written(name, problem=str(error))


def is_in_place(writer: Writer, resource: Resource, decided: Connection) -> bool:
    """Return whether there is nothing to write; in doubt there is."""
    if decided.obsolete:
        return False
    login, _problem = _login(writer, resource) if decided.targets else (None, "")
    return all(
        login is not None and is_written(writer, resource, target, login)
        for target in decided.targets
    )


def is_written(writer: Writer, resource: Resource, target: Target, login: Login) -> bool:
    """Return whether one of the Secrets is as it should be; in doubt it is not."""
    try:
        manifest = _manifest(writer, resource, target, login)
        live = writer.get(manifest)
    except (KubeError, ValueError):
        return False
    return live is not None and writer.is_in_place(manifest, live)


def _login(writer: Writer, resource: Resource) -> tuple[Login | None, str]:
    """Return as whom applications log in, or None and why that is not known.

    It is what the database accepts: a password that it does not have yet is of no use to them.
    """
    try:
        name = user_secret(resource)
        if not name:
            return checked(root_login(writer, resource), credential_secret(resource)), ""
        found = find_secret(writer, resource, name)
        if found is None:
            missing = f"Secret {name}, which spec.connectionSecret.userSecretRef names"
            return None, f"waiting for {missing}"
        return login_in(found, name), ""
    except (KubeError, ValueError) as error:
        return None, str(error)


def write_one(writer: Writer, resource: Resource, target: Target, login: Login) -> Written:
    """Bring one of the Secrets to what it should be.

    Args:
        writer: of the owner, with the labels by which its Secrets are recognized.
        resource: the MatrixOneCluster, or what has its name and the field ``connectionSecret``.
        target: what the Secret leads to.
        login: as whom applications log in.
    """
    try:
        outcome = writer.apply(_manifest(writer, resource, target, login))
    except Foreign as error:
        return Written(target.name, exists=False, problem=str(error))
    except (KubeError, ValueError) as error:
        return Written(target.name, problem=str(error))
    return Written(target.name, exists=True, outcome=outcome)


def _manifest(writer: Writer, resource: Resource, target: Target, login: Login) -> Manifest:
    """Return a Secret as it should be.

    Raises:
        KubeError: the API server does not tell what it is made of.
        ValueError: the Secret with the certificate is missing, or has none.
    """
    owner = None if resource["metadata"].get("uid") else _holder(writer, resource, target)
    authority = _authority(writer, resource, target.tls)
    return connection_secret(resource, target, login, authority, owner)


def _authority(writer: Writer, resource: Resource, name: str) -> str:
    """Return the certificates that clients trust, in PEM; empty without TLS.

    Without that of an authority it is the certificate itself, which may be its own.

    Raises:
        KubeError: the API server refuses.
        ValueError: there is no such Secret, or no certificate in it.
    """
    if not name:
        return ""
    found = find_secret(writer, resource, name)
    if found is None:
        raise ValueError(f"waiting for Secret {name}, which spec.tls.secretRef names")
    data = found.get("data") or {}
    return pem_in(found, name, AUTHORITY if data.get(AUTHORITY) else CERTIFICATE)


def _holder(writer: Writer, resource: Resource, target: Target) -> Manifest | None:
    """Return the reference to the Service with which a Secret goes; None if that does not exist.

    It controls nothing, so that an operator can take the Secret over.
    """
    place = {"namespace": resource["metadata"]["namespace"], "name": target.holder}
    found = writer.get({"apiVersion": "v1", "kind": "Service", "metadata": place})
    if found is None:
        return None
    uid = str(found["metadata"]["uid"])
    return {"apiVersion": "v1", "kind": "Service", "name": target.holder, "uid": uid}


def _given_up(writer: Writer, resource: Resource, name: str) -> Outcome:
    """Leave a Secret to the garbage collector, unless it is somebody else's.

    Raises:
        KubeError: the API server refuses.
    """
    live = find_secret(writer, resource, name)
    labels, uid = identifying_labels(resource), resource["metadata"].get("uid") or ""
    if live is None or not belongs(live, labels, uid):
        title = f"Secret {resource['metadata']['namespace']}/{name}"
        return Outcome(title, Change.UNCHANGED, None, None)
    return writer.leave_to_garbage_collector(live)
