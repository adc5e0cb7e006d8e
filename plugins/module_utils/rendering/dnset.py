# SPDX-License-Identifier: Apache-2.0
"""The transaction node (core.md §6)."""

from __future__ import annotations

from typing import Final

from . import configmap, names, policies, services, storage, workloads
from .logservice import LogService, fileservices
from .pod import PodParts, empty_data_volume, field_env, pod_template, tcp_probes, value_env
from .sets import SetContext
from .types import Manifest, References, Resource

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


def render_dnset(
    resource: Resource, *, start_script: str, references: References
) -> list[Manifest]:
    """Return every object of a DNSet, in the order in which to apply them.

    Args:
        resource: the DNSet.
        start_script: text of the start script.
        references: the LogSet that it depends on.

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
    return [
        config_map,
        services.headless_service(context),
        services.metric_service(context),
        workloads.stateful_set(context, pod_template(context, parts), claims, "Delete", 0),
        *policies.policies(context, _PORTS, 1, evict_unhealthy=False),
    ]


def _config(context: SetContext, log_service: LogService) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    if "tn" in user and "dn" in user:
        raise context.spec.refuse("config", "only one of [tn] and [dn] may be there")
    table = "tn" if "tn" in user else "dn"
    cache = storage.cache_table(context.spec)
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
    )
