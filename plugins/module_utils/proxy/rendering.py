# SPDX-License-Identifier: Apache-2.0
"""The proxy in front of compute nodes."""

from __future__ import annotations

import re
from typing import Final

from ..api import names, toml, versions
from ..api.fields import Fields
from ..api.types import Manifest, References, Resource
from ..workload import configmaps as configmap
from ..workload import policies, services, storage, tls, workloads
from ..workload.containers import (
    empty_data_volume,
    field_env,
    value_env,
)
from ..workload.log_service import LogService, fileservices
from ..workload.pods import (
    PodParts,
    pod_template,
)
from ..workload.sets import SetContext

_INSTANCE_KEYS: Final = (("proxy", "uuid"),)
_PORTS: Final = policies.Ports(
    internal=(("TCP", names.PORT_DEBUG, names.PORT_DEBUG),),
    public=(names.PORT_SQL, names.PORT_METRICS),
)
_REFRESH: Final = ("proxy", "cluster", "refresh-interval")
_REFRESH_INTERVAL: Final = "1s"
"""How often a proxy asks HAKeeper which compute node serves whom; MatrixOne's default is 5 s.

A tenant waits for that after a claim of a compute node, a move or a new label.
"""
_ADDRESS: Final = re.compile(r"[A-Za-z0-9._\[\]:-]+:[0-9]+")


def render_proxyset(
    resource: Resource, *, start_script: str, references: References
) -> list[Manifest]:
    """Return every object of a ProxySet, in the order in which to apply them.

    Args:
        resource: the ProxySet.
        start_script: text of the start script.
        references: the LogSet that it depends on.

    Raises:
        InvalidSpec: The ProxySet cannot be rendered.
    """
    context = SetContext.of(names.PROXY_SET, resource)
    log_service = LogService.of(context, resource, references)
    text = _config(context, log_service)
    config_map = configmap.set_config_map(context, start_script, text)
    parts = _pod_parts(context, config_map["metadata"]["name"], log_service)
    rolling = workloads.rolling_update(context.spec, 1, 0)
    ready = workloads.min_ready_seconds(context.spec, 0)
    return [
        config_map,
        services.client_service(context, names.PORT_SQL, "proxy"),
        workloads.deployment(context, pod_template(context, parts), rolling, ready),
        *policies.policies(context, _PORTS, 1, evict_unhealthy=True),
    ]


def _config(context: SetContext, log_service: LogService) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    entries = fileservices(log_service, user, storage.no_cache(), context.deps)
    config = configmap.operator_config(context, "PROXY", entries)
    config["hakeeper-client"] = {"discovery-address": log_service.discovery}
    config["proxy"] = {"listen-address": f"0.0.0.0:{names.PORT_SQL}", **_tls(context.spec)}
    if versions.operator_does(context.operator, "ProxyFollowsSoon"):
        toml.put(config, _REFRESH, toml.get(user, _REFRESH) or _REFRESH_INTERVAL)
    return configmap.config_text(context.spec, user, config)


def _tls(spec: Fields) -> toml.Table:
    if not tls.secret_name(spec):
        return {}
    return {
        "tls-enabled": True,
        "tls-cert-file": tls.CERTIFICATE_FILE,
        "tls-key-file": tls.KEY_FILE,
    }


def _pod_parts(context: SetContext, config_map: str, log_service: LogService) -> PodParts:
    env = [field_env("POD_NAME", "metadata.name"), field_env("NAMESPACE", "metadata.namespace")]
    plugin = context.spec.text("waitPluginAddr")
    if plugin:
        if not _ADDRESS.fullmatch(plugin):
            raise context.spec.refuse("waitPluginAddr", f"must be <host>:<port>, not {plugin!r}")
        env.append(value_env("WAIT_PLUGIN_ADDR", plugin))
    # No liveness probe: a restart would cut the connections of every client.
    readiness = {
        "tcpSocket": {"port": names.PORT_SQL},
        "periodSeconds": 5,
        "failureThreshold": 2,
    }
    return PodParts(
        config_map=config_map,
        config_mount=names.CONFIG_MOUNT,
        data_volume=empty_data_volume(),
        env=env,
        probes={"readinessProbe": readiness},
        shared=log_service.shared,
        volumes=tls.volumes(context.spec),
        mounts=tls.mounts(context.spec),
        is_store=False,
    )
