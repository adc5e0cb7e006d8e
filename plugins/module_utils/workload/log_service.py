# SPDX-License-Identifier: Apache-2.0
"""How TN, CN and proxy reach the log service and the storage it shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..api import names, versions
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.toml import Table
from ..api.types import References, Resource
from . import storage
from .sets import SetContext, dependency_of, namespace_of, required_replicas
from .storage import SharedStorage

_ENDPOINT: Final = "must be <host>:<port>"


@dataclass(frozen=True, slots=True)
class LogService:
    """A log service as another set sees it.

    Attributes:
        discovery: ``host:port`` that reaches any log store.
        addresses: ``host:port`` of each log store.
        hosts: DNS names under which all log stores are found, however many there will be.
        shared: the storage it shares; None when the set's own configuration describes it.
    """

    discovery: str
    addresses: Sequence[str]
    hosts: Sequence[str]
    shared: SharedStorage | None

    @classmethod
    def of(cls, context: SetContext, resource: Resource, references: References) -> LogService:
        """Resolve the log service that a set depends on.

        Raises:
            InvalidSpec: There is none, both kinds are named, or the named one is not known.
        """
        named = dependency_of(resource, "logSet")
        has_external = context.deps.raw("externalLogSet") is not None
        if (named is not None) == has_external:
            raise InvalidSpec(
                "deps",
                "only one of logSet and externalLogSet may be set"
                if has_external
                else "one of logSet or externalLogSet must be set",
            )
        if named is None:
            return _external(context)
        log_set = references.get("logSet")
        if log_set is None:
            namespace, name = named
            raise InvalidSpec("deps.logSet", f"there is no LogSet {namespace}/{name}")
        return _from_log_set(context, log_set)

    def hakeeper_client(self, context: SetContext) -> Table:
        """Return the client's keys for a TN or CN: newer ones discover, older ones need a list."""
        if versions.has_feature(context.version, "DiscoveryFixed"):
            return {"discovery-address": self.discovery}
        return {"service-addresses": list(self.addresses)}


def log_addresses(base: str, domain: str, replicas: int, port: int = names.PORT_LOG) -> list[str]:
    """Return the addresses of the log stores of a LogSet, one per ordinal.

    A replaced store keeps its ordinal and with it its address, so the list has no holes.
    """
    headless = names.headless_name(base)
    return [f"{base}-{ordinal}.{headless}.{domain}:{port}" for ordinal in range(replicas)]


def discovery_address(base: str, domain: str) -> str:
    """Return the address of the Service in front of the log stores."""
    return f"{names.discovery_name(base)}.{domain}:{names.PORT_LOG}"


def _from_log_set(context: SetContext, log_set: Resource) -> LogService:
    root = Fields("", log_set)
    spec = root.table("spec")
    owner, namespace = root.table("metadata").required_text("name"), namespace_of(log_set)
    base = names.base_name(names.LOG_SET, owner)
    cluster_domain = context.spec.text("clusterDomain") or spec.text("clusterDomain")
    domain = names.service_domain(namespace, cluster_domain)
    shared = SharedStorage.of(spec.table("sharedStorage"), owner)
    if shared.claim is not None and namespace != context.namespace:
        raise InvalidSpec(
            "deps.logSet.metadata.namespace",
            f"must be {context.namespace}: the storage of LogSet {namespace}/{owner} is a claim, "
            "which only Pods of its own namespace can mount",
        )
    return LogService(
        discovery=discovery_address(base, domain),
        addresses=log_addresses(base, domain, required_replicas(spec)),
        hosts=[f"{names.headless_name(base)}.{domain}"],
        shared=shared,
    )


def _external(context: SetContext) -> LogService:
    external = context.deps.table("externalLogSet")
    endpoint = external.required_text("haKeeperEndpoint", _ENDPOINT)
    addresses = [address.strip() for address in endpoint.split(",") if address.strip()]
    if not addresses:
        raise InvalidSpec(external.at("haKeeperEndpoint"), _ENDPOINT)
    shared = None
    if external.raw("sharedStorage") is not None:
        shared = SharedStorage.of(external.table("sharedStorage"), None)
    hosts = [address.rpartition(":")[0] for address in addresses]
    return LogService(discovery=addresses[0], addresses=addresses, hosts=hosts, shared=shared)


def fileservices(
    service: LogService, user: Table, cache: Table, deps: Fields
) -> list[Table] | None:
    """Return the fileservice entries of a TN, CN or proxy; None when the user brings them.

    Raises:
        InvalidSpec: An external log service without storage, and no entries in the user's part.
    """
    if service.shared is not None:
        return service.shared.fileservices(cache)
    entries = user.get("fileservice")
    brought = {
        entry.get("name")
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
    }
    if not {"S3", "ETL"} <= brought:
        raise InvalidSpec(
            deps.at("externalLogSet.sharedStorage"),
            "must be set, unless spec.config has [[fileservice]] entries named S3 and ETL",
        )
    return [storage.local_fileservice()]
