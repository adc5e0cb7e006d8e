# SPDX-License-Identifier: Apache-2.0
"""The Secrets that tell applications how to connect: to which address, as whom, with which TLS.

There is one for the cluster, and one for each group of compute nodes, which sessions reach at the
Service of the group. Their keys are those of a Secret of type ``servicebinding.io/mysql`` (Service
Binding Specification for Kubernetes 1.1, "Well-known Secret Entries"), and addresses for drivers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Self
from urllib.parse import quote, urlencode

from ..api import names
from ..api.certificates import AUTHORITY
from ..api.fields import Fields, as_table
from ..api.types import Manifest, Resource
from ..workload.plans import Observed, named
from ..workload.sets import namespace_of
from ..workload.tls import secret_name
from .credentials import login_secret
from .root_credential import Login, Secret, login_of, mistake_in

_TYPE: Final = "mysql"
_PROVIDER: Final = "matrixone"
_VERIFIED: Final = "VERIFY_IDENTITY"
"""The client requires TLS, and verifies the certificate and its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What one of the Secrets leads to.

    Attributes:
        name: of the Secret.
        host: name of the Service in the DNS of the Kubernetes cluster.
        holder: Service with which the Secret goes where there is no resource that owns it.
        tls: Secret with the certificate of the server; empty without TLS.
    """

    name: str
    host: str
    holder: str
    tls: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What is decided about these Secrets.

    Attributes:
        targets: those that should exist.
        obsolete: names of those that should not, and may exist.
    """

    targets: Sequence[Target] = ()
    obsolete: Sequence[str] = ()

    def as_variable(self) -> dict[str, Any]:
        """Return it as it travels with the plan: empty if there is nothing to do."""
        return asdict(self) if self.targets or self.obsolete else {}

    @classmethod
    def read(cls, variable: Mapping[str, Any]) -> Self:
        """Return what `as_variable` wrote."""
        targets = [Target(**one) for one in variable.get("targets") or ()]
        return cls(targets=targets, obsolete=list(variable.get("obsolete") or ()))


def decide(resource: Resource, observed: Observed, children: Sequence[Manifest]) -> Connection:
    """Decide which Secrets should exist.

    What the status has on record and is not desired any more is obsolete. A playbook has no record:
    there, a Secret goes with the Service that it leads to, and those that may be there are obsolete
    once none is asked for.

    Args:
        resource: the MatrixOneCluster.
        observed: what its references led to.
        children: the rendered ones.
    """
    possible = list(_targets(resource, observed, children))
    targets = possible if is_asked(resource) else []
    desired = {one.name for one in targets}
    if resource["metadata"].get("uid"):
        known = recorded(observed.get("self") or resource)
    else:
        known = [one.name for one in possible]
    return Connection(targets=targets, obsolete=[one for one in known if one not in desired])


def is_asked(resource: Resource) -> bool:
    """Return whether a cluster is to have such Secrets."""
    return isinstance((resource.get("spec") or {}).get("connectionSecret"), Mapping)


def recorded(resource: Resource) -> list[str]:
    """Return the names of the Secrets that exist, as far as the status says."""
    return list(as_table(resource.get("status")).get("connectionSecrets") or ())


def user_secret(resource: Resource) -> str:
    """Return the name of the Secret with the user of the applications; empty for the root user."""
    asked = Fields("", resource).table("spec").table("connectionSecret")
    return asked.table("userSecretRef").text("name")


def _targets(
    resource: Resource, observed: Observed, children: Sequence[Manifest]
) -> Iterator[Target]:
    """Yield what there is to connect to: the proxies or, without any, the first group; each group.

    A set that does not exist yet, because its change waits for a window or an upgrade, is passed
    over as long as there is another one. What exists counts as it is, not as it is to become.
    """
    cluster = resource["metadata"]["name"]
    sets = {named(one): one for one in _live(observed)}
    proxies = [one for one in children if one["kind"] == names.PROXY_SET]
    groups = [one for one in children if one["kind"] == names.CN_SET]
    entrances = [*proxies, *groups]
    present = [one for one in entrances if named(one) in sets]
    holder = names.headless_name(names.base_name(names.LOG_SET, cluster))
    for first in (present or entrances)[:1]:
        yield target_of(sets.get(named(first), first), names.connection_name(cluster), holder)
    for child in groups:
        group = child["metadata"]["name"].removeprefix(f"{cluster}-")
        name = names.connection_name(cluster, group)
        service = names.base_name(names.CN_SET, child["metadata"]["name"])
        yield target_of(sets.get(named(child), child), name, service)


def _live(observed: Observed) -> Iterator[Manifest]:
    proxies, groups = observed.get("proxySet"), observed.get("cnSets") or []
    yield from ([proxies] if proxies else [])
    yield from groups


def target_of(part: Manifest, name: str, holder: str) -> Target:
    """Return what a Secret leads to.

    Args:
        part: the ProxySet or CNSet that takes the connections.
        name: of the Secret.
        holder: Service with which the Secret goes where no resource owns it.
    """
    spec = Fields("spec", part.get("spec") or {})
    service = names.base_name(part["kind"], part["metadata"]["name"])
    domain = names.service_domain(namespace_of(part), spec.text("clusterDomain"))
    return Target(name=name, host=f"{service}.{domain}", holder=holder, tls=secret_name(spec))


def identifying_labels(resource: Resource) -> dict[str, str]:
    """Return the labels by which a Secret of one of these names is known to be ours."""
    return {
        names.LABEL_CLUSTER: resource["metadata"]["name"],
        "app.kubernetes.io/managed-by": names.MANAGED_BY,
        "app.kubernetes.io/component": "connection",
    }


def login_in(secret: Secret, name: str) -> Login:
    """Return the login of an application, as a Secret of the user has it.

    Args:
        secret: with its data.
        name: of the Secret, for the error.

    Raises:
        ValueError: it has none, or one that cannot be used; the message does not contain it.
    """
    missing = [key for key in ("username", "password") if not (secret.get("data") or {}).get(key)]
    if missing:
        raise ValueError(f"Secret {name} has no {missing[0]}")
    return checked(login_of(secret), name)


def checked(login: Login, name: str) -> Login:
    """Return a login that drivers can use.

    Args:
        login: from a Secret.
        name: of the Secret, for the error.

    Raises:
        ValueError: they cannot; the message does not contain it.
    """
    if mistake := mistake_in(login):
        raise ValueError(f"Secret {name}: {mistake}")
    return login


def connection_secret(
    resource: Resource, target: Target, login: Login, authority: str, owner: Manifest | None
) -> Manifest:
    """Return a Secret for applications.

    Args:
        resource: the MatrixOneCluster.
        target: what it leads to.
        login: as whom they log in.
        authority: certificates in PEM that they trust; empty without TLS.
        owner: owner reference where the resource is not in the cluster; None for none.
    """
    asked = Fields("", resource).table("spec").table("connectionSecret")
    pairs = _entries(target, login, asked.text("database"), authority)
    manifest = login_secret(resource, target.name, pairs, {})
    labels = {**manifest["metadata"]["labels"], **identifying_labels(resource)}
    metadata = {**manifest["metadata"], "labels": labels}
    if owner:
        metadata["ownerReferences"] = [owner]
    return {**manifest, "metadata": metadata, "type": f"servicebinding.io/{_TYPE}"}


def _entries(target: Target, login: Login, database: str, authority: str) -> dict[str, str]:
    """Return what a Secret holds, as plain text."""
    found = {
        "type": _TYPE,
        "provider": _PROVIDER,
        "host": target.host,
        "port": str(names.PORT_SQL),
        "username": login.user,
        "password": login.password,
        "database": database,
        "uri": _uri(target, login, database),
        "jdbc-uri": _jdbc_uri(target, login, database),
        "go-dsn": _go_dsn(target, login, database),
        "ssl-mode": _VERIFIED if target.tls else "",
        AUTHORITY: authority,
    }
    return {key: value for key, value in found.items() if value}


def _uri(target: Target, login: Login, database: str) -> str:
    """Return the address as a URI (RFC 3986), as MySQL Shell and most drivers take it."""
    user, password, path = (quote(one, safe="") for one in (login.user, login.password, database))
    query = f"?ssl-mode={_VERIFIED}" if target.tls else ""
    return f"mysql://{user}:{password}@{target.host}:{names.PORT_SQL}/{path}{query}"


def _jdbc_uri(target: Target, login: Login, database: str) -> str:
    """Return the address for Connector/J, which decodes the values of the query."""
    options = {"user": login.user, "password": login.password}
    if target.tls:
        options["sslMode"] = _VERIFIED
    query = urlencode(options, quote_via=quote, safe="")
    address = f"jdbc:mysql://{target.host}:{names.PORT_SQL}/{quote(database, safe='')}"
    return f"{address}?{query}"


def _go_dsn(target: Target, login: Login, database: str) -> str:
    """Return the address for go-sql-driver/mysql; empty if that cannot express the user.

    It decodes neither user nor password: the user ends at the first colon, the password at the last
    ``@`` before the last ``/`` (its dsn.go, ParseDSN). MatrixOne takes ``account#user`` for
    ``account:user`` (its pkg/frontend/authenticate.go, GetTenantInfo).
    """
    if ":" in login.user and "#" in login.user:
        return ""
    user = login.user.replace(":", "#")
    query = "?tls=true" if target.tls else ""
    # A dollar sign stays: older drivers decode nothing at all.
    address = f"tcp({target.host}:{names.PORT_SQL})/{quote(database, safe='$')}{query}"
    return f"{user}:{login.password}@{address}"
