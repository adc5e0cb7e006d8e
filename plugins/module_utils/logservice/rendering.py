# SPDX-License-Identifier: Apache-2.0
"""The log service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..api import digests as digest
from ..api import names, toml, versions
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import BootstrapMember, LogSetObserved, Manifest, Resource
from ..workload import configmaps as configmap
from ..workload import policies, services, storage, workloads
from ..workload.containers import (
    config_map_volume,
    field_env,
    tcp_probes,
    value_env,
)
from ..workload.log_service import discovery_address, log_addresses
from ..workload.pods import (
    PodParts,
    pod_template,
)
from ..workload.sets import SetContext, required_replicas
from ..workload.storage import SharedStorage
from .folder_check import folder_check

_FIRST_REPLICA_ID: Final = 131072
_LAST_REPLICA_ID: Final = 262144
_DEFAULT_SHARD_REPLICAS: Final = 3
_MAX_INCARNATION: Final = 0xFFFF
_MIN_READY_SECONDS: Final = 5
_INSTANCE_KEYS: Final = tuple(
    ("logservice", key)
    for key in (
        "uuid", "raft-address", "logservice-address", "gossip-address", "gossip-address-v2",
        "service-host", "raft-port", "logservice-port", "gossip-port", "gossip-seed-addresses",
        "BootstrapConfig",
    )
)  # fmt: skip
_PORTS: Final = policies.Ports(
    internal=(
        ("TCP", names.PORT_RAFT, names.PORT_GOSSIP),
        ("UDP", names.PORT_GOSSIP, names.PORT_GOSSIP),
        ("TCP", names.PORT_DEBUG, names.PORT_DEBUG),
    ),
    public=(names.PORT_METRICS,),
)


def render_logset(
    resource: Resource, *, start_script: str, observed: LogSetObserved | None = None
) -> list[Manifest]:
    """Return every object of a LogSet, in the order in which to apply them.

    Args:
        resource: the LogSet.
        start_script: text of the start script.
        observed: what was decided earlier and must be kept; None before the first creation.

    Raises:
        InvalidSpec: The LogSet cannot be rendered.
    """
    observed = observed or {}
    context = SetContext.of(names.LOG_SET, resource)
    shared = SharedStorage.of(context.spec.table("sharedStorage"), context.owner)
    members = observed.get("bootstrap") or bootstrap_decision(resource)
    config_map = configmap.set_config_map(context, start_script, _config(context, shared))
    template = pod_template(context, _pod_parts(context, config_map["metadata"]["name"], shared))
    claims = workloads.stateful_claims(context.spec, context.spec.table("volume"))
    ready = workloads.min_ready_seconds(context.spec, _MIN_READY_SECONDS)
    return [
        *_shared_claim(context, shared),
        _bootstrap(context, members),
        _gossip(context, observed.get("incarnations") or {}),
        config_map,
        services.headless_service(context),
        services.internal_service(context, names.discovery_name(context.base), names.PORT_LOG),
        services.metric_service(context),
        workloads.stateful_set(context, template, claims, ready),
        *_folder_check(context, template, shared),
        *policies.policies(
            context, _PORTS, _max_unavailable(context, len(members)), evict_unhealthy=False
        ),
    ]


def shared_claim(resource: Resource) -> list[Manifest]:
    """Return the claim of the shared storage alone, if a LogSet has one.

    Raises:
        InvalidSpec: The LogSet cannot be rendered.
    """
    context = SetContext.of(names.LOG_SET, resource)
    shared = SharedStorage.of(context.spec.table("sharedStorage"), context.owner)
    return _shared_claim(context, shared)


def bootstrap_decision(resource: Resource) -> list[BootstrapMember]:
    """Decide which stores form HAKeeper at first.

    The decision is made once; the caller stores it before anything is created.

    Returns:
        The first ``logShardReplicas`` ordinals with their replica ids.

    Raises:
        InvalidSpec: More shard replicas than log stores, or than replica ids.
    """
    spec = Fields("", resource).table("spec")
    initial, replicas = spec.table("initialConfig"), required_replicas(spec)
    shard_replicas = initial.number("logShardReplicas", minimum=1)
    if shard_replicas is None:
        shard_replicas = _DEFAULT_SHARD_REPLICAS if replicas >= _DEFAULT_SHARD_REPLICAS else 1
    elif shard_replicas > replicas > 0:
        raise initial.refuse("logShardReplicas", f"must be at most spec.replicas ({replicas})")
    if _FIRST_REPLICA_ID + shard_replicas - 1 > _LAST_REPLICA_ID:
        raise initial.refuse("logShardReplicas", "leaves the range of replica ids")
    return [
        {"ordinal": ordinal, "replicaId": _FIRST_REPLICA_ID + ordinal}
        for ordinal in range(shard_replicas)
    ]


def _config(context: SetContext, shared: SharedStorage) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    restoring = bool(context.spec.table("initialConfig").text("restoreFrom"))
    # Besides the usual ones: without ETL, the records of a store's own log would stay on its disk.
    entries = shared.fileservices(storage.no_cache())
    if restoring:
        entries.append(shared.backup_fileservice())
    config = configmap.operator_config(context, "LOG", entries)
    section: toml.Table = {
        "deployment-id": digest.deployment_id(context.owner),
        "logservice-listen-address": f"0.0.0.0:{names.PORT_LOG}",
    }
    if required_replicas(context.spec) == 1:
        section["gossip-allow-self-as-seed"] = True
    config["logservice"] = section
    address = discovery_address(context.base, context.domain)
    config["hakeeper-client"] = {"discovery-address": address}
    return configmap.config_text(context.spec, user, config)


def _bootstrap(context: SetContext, members: list[BootstrapMember]) -> Manifest:
    initial = context.spec.table("initialConfig")
    tn_shards = _shards(initial, "dnShards")
    section: toml.Table = {
        "bootstrap-cluster": True,
        "num-of-log-shards": _shards(initial, "logShards"),
        "num-of-dn-shards": tn_shards,
        "num-of-log-shard-replicas": len(members),
        "init-hakeeper-members": [
            f"{member['replicaId']}:{digest.log_uuid(member['ordinal'])}" for member in members
        ],
    }
    if tn_shards != 1:
        # MatrixOne renamed the key and reads only the new one; 1 is its default either way.
        section["num-of-tn-shards"] = tn_shards
    restore = initial.text("restoreFrom")
    if restore:
        # Without force, a store that ended between its mark of the restore and HAKeeper's first
        # state would found it without what was backed up, and ids would be given out twice. One
        # that has a state ignores it (pkg/hakeeper/rsm.go, handleInitialClusterRequestCmd).
        section["restore"] = {"file-path": f"BACKUP://{restore}", "force": True}
    text = toml.dump({"logservice": {"BootstrapConfig": section}})
    return configmap.fixed_config_map(
        context, f"{context.base}-bootstrap", {names.BOOTSTRAP_FILE: text}, immutable=True
    )


def _shards(initial: Fields, name: str) -> int:
    """Return a number of shards, 1 when absent."""
    return initial.number(name, minimum=1) or 1


def gossip_name(log_set: str) -> str:
    """Return the name of the ConfigMap that tells stores their peers and their incarnations."""
    return f"{names.base_name(names.LOG_SET, log_set)}-gossip"


def _gossip(context: SetContext, incarnations: Mapping[str, int]) -> Manifest:
    replicas = required_replicas(context.spec)
    seeds = log_addresses(context.base, context.domain, replicas, names.PORT_GOSSIP)
    data = {
        names.GOSSIP_FILE: toml.dump({"logservice": {"gossip-seed-addresses": seeds}}),
        names.INCARNATIONS_FILE: _incarnation_lines(incarnations),
    }
    name = gossip_name(context.owner)
    return configmap.fixed_config_map(context, name, data, immutable=False)


def _incarnation_lines(incarnations: Mapping[str, int]) -> str:
    """Return lines ``<ordinal> <incarnation>`` for the stores that were replaced."""
    lines = {}
    for ordinal, incarnation in incarnations.items():
        if not ordinal.isdecimal() or incarnation not in range(_MAX_INCARNATION + 1):
            raise InvalidSpec(
                f"metadata.annotations[{names.ANNOTATION_INCARNATIONS}]",
                f"store {ordinal} has incarnation {incarnation}; an ordinal and a number from 0 to "
                f"{_MAX_INCARNATION} are needed",
            )
        if incarnation:
            lines[int(ordinal)] = f"{int(ordinal)} {incarnation}\n"
    return "".join(lines[ordinal] for ordinal in sorted(lines))


def _pod_parts(context: SetContext, config_map: str, shared: SharedStorage) -> PodParts:
    env = [
        field_env("POD_NAME", "metadata.name"),
        field_env("NAMESPACE", "metadata.namespace"),
        field_env("POD_IP", "status.podIP"),
        value_env("HEADLESS_SERVICE_NAME", context.headless),
    ]
    if versions.has_feature(context.version, "DiscoveryFixed"):
        env.append(value_env("ADDRESS_STYLE", "service-host"))
    return PodParts(
        config_map=config_map,
        config_mount=names.LOG_CONFIG_MOUNT,
        data_volume=None,
        env=env,
        probes=tcp_probes(names.PORT_LOG),
        shared=shared,
        volumes=[
            config_map_volume(names.VOLUME_BOOTSTRAP, f"{context.base}-bootstrap"),
            config_map_volume(names.VOLUME_GOSSIP, gossip_name(context.owner)),
        ],
        mounts=[
            _read_only(names.VOLUME_BOOTSTRAP, names.BOOTSTRAP_MOUNT),
            _read_only(names.VOLUME_GOSSIP, names.GOSSIP_MOUNT),
        ],
    )


def _read_only(volume: str, path: str) -> dict[str, Any]:
    return {"name": volume, "mountPath": path, "readOnly": True}


def _shared_claim(context: SetContext, shared: SharedStorage) -> list[Manifest]:
    """Return the claim for storage on a file system.

    No owner takes it along: where the policy says so, it is deleted by name when the LogSet ends.
    A policy that cannot be read is refused here, and not found out then.
    """
    storage.pvc_policy(context.spec)
    if shared.claim is None:
        return []
    keep = {names.ANNOTATION_KEEP: "true"}
    body = {"spec": shared.claim_spec()}
    return [context.manifest("v1", "PersistentVolumeClaim", shared.claim, body, keep)]


def _folder_check(
    context: SetContext, template: Mapping[str, Any], shared: SharedStorage
) -> list[Manifest]:
    """Return what writes to a shared folder; an object store is asked by the operator itself."""
    if shared.s3 is not None:
        return []
    return folder_check(context, template, shared.fields.table("fileSystem").text("path"))


def _max_unavailable(context: SetContext, shard_replicas: int) -> int:
    """Return how many log stores may be away at once.

    A shard needs a majority of its replicas. Where it has a single one there is no majority to
    keep, and a budget of none would block the draining of nodes forever.
    """
    copies = min(required_replicas(context.spec), shard_replicas)
    return max(1, (copies - 1) // 2)
