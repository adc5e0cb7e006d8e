# SPDX-License-Identifier: Apache-2.0
"""The transaction node."""

from __future__ import annotations

from typing import Final

from ..api import names
from ..api.types import Manifest, References, Resource
from ..workload import configmaps as configmap
from ..workload import policies, services, storage, workloads
from ..workload.containers import (
    config_map_volume,
    empty_data_volume,
    field_env,
    tcp_probes,
    value_env,
)
from ..workload.log_service import LogService, fileservices
from ..workload.pods import (
    PodParts,
    pod_template,
)
from ..workload.sets import SetContext
from . import shards as tn_shards

_INSTANCE_KEYS: Final = tuple(
    (table, *key)
    for table in ("dn", "tn")
    for key in (
        ("uuid",),
        ("service-address",),
        ("service-host",),
        ("lockservice", "service-address"),
        ("LogtailServer", "service-address"),
    )
)
_PORTS: Final = policies.Ports(
    internal=(
        ("TCP", names.PORT_TN, names.PORT_TN + names.PORT_RANGE),
        ("TCP", names.PORT_LOGTAIL, names.PORT_LOGTAIL),
        ("TCP", names.PORT_LOCK, names.PORT_LOCK),
        ("TCP", names.PORT_DEBUG, names.PORT_DEBUG),
    ),
    public=(names.PORT_METRICS,),
)


_SECONDS_TO_STOP: Final = 2
"""No client can write from the moment at which a transaction node is stopped until the next one
serves. What it has acknowledged is in the log by then. Its services end within two seconds; after
that it only flushes traces, for longer than anybody should wait."""


def render_dnset(
    resource: Resource, *, start_script: str, references: References, shards: str = ""
) -> list[Manifest]:
    """Return every object of a DNSet, in the order in which to apply them.

    Args:
        resource: the DNSet.
        start_script: text of the start script.
        references: the LogSet that it depends on.
        shards: what its transaction nodes serve, see `tn_shards.lines`; empty if that is unknown.

    Raises:
        InvalidSpec: The DNSet cannot be rendered.
    """
    context = SetContext.of(names.DN_SET, resource)
    log_service = LogService.of(context, resource, references)
    text = _config(context, log_service)
    config_map = configmap.set_config_map(context, start_script, text)
    cached = bool(context.spec.table("cacheVolume").data)
    parts = _pod_parts(context, config_map["metadata"]["name"], log_service, cached=cached)
    claims = (
        workloads.stateful_claims(context.spec, context.spec.table("cacheVolume")) if cached else []
    )
    ready = workloads.min_ready_seconds(context.spec, 0)
    return [
        config_map,
        tn_shards.kept_map(context, shards),
        services.headless_service(context),
        services.metric_service(context),
        workloads.stateful_set(context, pod_template(context, parts), claims, ready, is_cache=True),
        *policies.policies(context, _PORTS, 1, evict_unhealthy=False),
    ]


def _config(context: SetContext, log_service: LogService) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    if "tn" in user and "dn" in user:
        raise context.spec.refuse("config", "only one of [tn] and [dn] may be there")
    table = "tn" if "tn" in user else "dn"
    cache = storage.cache_table(context.spec, context.operator)
    entries = fileservices(log_service, user, cache, context.deps)
    config = configmap.operator_config(context, "DN", entries)
    config["hakeeper-client"] = log_service.hakeeper_client(context)
    config[table] = {
        "listen-address": f"0.0.0.0:{names.PORT_TN}",
        "port-base": names.PORT_TN,
        "lockservice": {"listen-address": f"0.0.0.0:{names.PORT_LOCK}"},
        "LogtailServer": {"listen-address": f"0.0.0.0:{names.PORT_LOGTAIL}"},
    }
    return configmap.config_text(context.spec, user, config)


def _pod_parts(
    context: SetContext, config_map: str, log_service: LogService, *, cached: bool
) -> PodParts:
    env = [
        field_env("POD_NAME", "metadata.name"),
        field_env("NAMESPACE", "metadata.namespace"),
        value_env("HEADLESS_SERVICE_NAME", context.headless),
    ]
    if context.spec.flag("dnsBasedIdentity"):
        env.append(value_env("HOSTNAME_UUID", "y"))
    return PodParts(
        config_map=config_map,
        config_mount=names.CONFIG_MOUNT,
        data_volume=None if cached else empty_data_volume(),
        env=env,
        probes=tcp_probes(names.PORT_TN),
        shared=log_service.shared,
        volumes=[config_map_volume(names.VOLUME_SHARDS, names.shards_name(context.base))],
        mounts=[
            {"name": names.VOLUME_SHARDS, "mountPath": names.SHARDS_MOUNT, "readOnly": True},
        ],
        extras={"terminationGracePeriodSeconds": _SECONDS_TO_STOP},
    )
