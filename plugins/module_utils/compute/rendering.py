# SPDX-License-Identifier: Apache-2.0
"""Compute nodes."""

from __future__ import annotations

import json
from typing import Any, Final

from ..api import durations as duration
from ..api import names, versions
from ..api.fields import Fields
from ..api.toml import Table
from ..api.types import Manifest, References, Resource
from ..workload import configmaps as configmap
from ..workload import overlay, policies, services, storage, tls, workloads
from ..workload.containers import (
    container_security,
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

_INSTANCE_KEYS: Final = (
    ("cn", "uuid"),
    ("cn", "listen-address"),
    ("cn", "service-address"),
    ("cn", "sql-address"),
    ("cn", "service-host"),
    ("cn", "lockservice", "service-address"),
)
_PORTS: Final = policies.Ports(
    internal=(
        ("TCP", names.PORT_CN, names.PORT_CN + names.PORT_RANGE),
        ("TCP", names.PORT_DEBUG, names.PORT_DEBUG),
    ),
    public=(names.PORT_SQL, names.PORT_METRICS),
)
DEFAULT_DELAY_SECONDS: Final = 15
"""Proxies check every 5 s, and compute nodes every 10 s, which nodes drain."""
_QUIET_SECONDS: Final = 15
"""The operator checks every 5 s what drains, and a hand-over of locks takes seconds. Locks that
stay with a node that ends are not free for a minute and more, and writes wait for them."""
_MIN_READY_SECONDS: Final = 5
_DEFAULT_DRAIN_SECONDS: Final = 300
_SECONDS_TO_STOP: Final = 30
_DEFAULT_UDF_IMAGE: Final = "composer000/mo-python-udf-server:latest"
_POOLING: Final = "Pooling"


def render_cnset(
    resource: Resource, *, start_script: str, references: References
) -> list[Manifest]:
    """Return every object of a CNSet, in the order in which to apply them.

    Args:
        resource: the CNSet.
        start_script: text of the start script.
        references: the LogSet that it depends on.

    Raises:
        InvalidSpec: The CNSet cannot be rendered.
    """
    context = SetContext.of(names.CN_SET, resource)
    log_service = LogService.of(context, resource, references)
    text = _config(context, log_service)
    config_map = configmap.set_config_map(context, start_script, text)
    template = pod_template(
        context, _pod_parts(context, config_map["metadata"]["name"], log_service)
    )
    template["spec"]["containers"] += _udf_sidecar(context.spec)
    rolling = workloads.rolling_update(context.spec, 1, 0)
    ready = workloads.min_ready_seconds(context.spec, _MIN_READY_SECONDS)
    return [
        config_map,
        services.headless_service(context),
        services.client_service(context, names.PORT_SQL, "service"),
        workloads.deployment(context, template, rolling, ready),
        *policies.policies(context, _PORTS, 1, evict_unhealthy=True),
    ]


def _config(context: SetContext, log_service: LogService) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    cache = storage.cache_table(context.spec, context.operator)
    entries = fileservices(log_service, user, cache, context.deps)
    config = configmap.operator_config(context, "CN", entries)
    config["hakeeper-client"] = log_service.hakeeper_client(context)
    section: Table = {
        "role": context.spec.choice("role", ("TP", "AP"), "TP"),
        "port-base": names.PORT_CN,
        "lockservice": {"listen-address": f"0.0.0.0:{names.PORT_LOCK}"},
    }
    sidecar = context.spec.table("pythonUdfSidecar")
    if sidecar.flag("enabled"):
        section["python-udf-client"] = {"server-address": f"localhost:{_udf_port(sidecar)}"}
    if _drains(context.spec):
        section["init-work-state"] = "Draining"
    if tls.secret_name(context.spec):
        section["frontend"] = {
            "enableTls": True,
            "tlsCertFile": tls.CERTIFICATE_FILE,
            "tlsKeyFile": tls.KEY_FILE,
        }
    config["cn"] = section
    return configmap.config_text(context.spec, user, config)


def _drains(spec: Fields) -> bool:
    return spec.table("scalingConfig").flag("storeDrainEnabled")


def drain_timeout(spec: Fields) -> int:
    """Return how many seconds a CN may take to hand over its work; 0 when it does not drain."""
    if not _drains(spec):
        return 0
    scaling = spec.table("scalingConfig")
    if scaling.raw("storeDrainTimeout") is None:
        return _DEFAULT_DRAIN_SECONDS
    return duration.seconds(scaling, "storeDrainTimeout")


def _pod_parts(context: SetContext, config_map: str, log_service: LogService) -> PodParts:
    return PodParts(
        config_map=config_map,
        config_mount=names.CONFIG_MOUNT,
        data_volume=None if _data_volumes(context) else empty_data_volume(),
        env=[
            field_env("POD_NAME", "metadata.name"),
            field_env("NAMESPACE", "metadata.namespace"),
            value_env("HEADLESS_SERVICE_NAME", context.headless),
            field_env("POD_IP", "status.podIP"),
        ],
        # Each check leaves a line in the log of a SQL server, so it checks less often than others.
        probes=tcp_probes(names.PORT_SQL, readiness_period=5),
        shared=log_service.shared,
        volumes=[*_data_volumes(context), *tls.volumes(context.spec)],
        mounts=tls.mounts(context.spec),
        annotations=_annotations(context),
        extras=_pod_extras(context),
        pre_stop=_pre_stop(context, log_service),
    )


def _data_volumes(context: SetContext) -> list[dict[str, Any]]:
    volume = context.spec.table("cacheVolume")
    return workloads.ephemeral_volumes(context, volume) if volume.data else []


def _annotations(context: SetContext) -> dict[str, str]:
    """Return what other controllers read from a CN's Pod."""
    annotations = {names.ANNOTATION_CN_LABEL: _label_json(context.spec)}
    policy = context.spec.text("podManagementPolicy")
    if policy:
        annotations[names.ANNOTATION_POOL_POLICY] = policy
    in_place = versions.operator_does(context.operator, "InplacePoolRollingUpdate")
    if policy == _POOLING and in_place:
        annotations[names.ANNOTATION_POOL_IN_PLACE] = "y"
    return annotations


def _label_json(spec: Fields) -> str:
    """Return the CN store labels as other controllers read them; ``null`` when there are none."""
    if spec.raw("cnLabels") is None:
        return "null"
    labels = [
        {"key": label.required_text("key"), "values": label.texts("values")}
        for label in spec.tables("cnLabels")
    ]
    return json.dumps(labels, separators=(",", ":"), ensure_ascii=False)


def _pod_extras(context: SetContext) -> dict[str, Any]:
    """Return the Pod's subdomain, the gate of pooled CNs, and the time that a drain needs.

    Only pooled CNs wait for the operator before they count as ready: any other CN serves again by
    itself when it was moved while the operator is down.
    """
    extras: dict[str, Any] = {"subdomain": context.headless}
    if context.spec.text("podManagementPolicy") == _POOLING:
        extras["readinessGates"] = [{"conditionType": names.CONDITION_CN_STORE}]
    if _drains(context.spec):
        extras["terminationGracePeriodSeconds"] = _drain_window(context.spec)[1] + _SECONDS_TO_STOP
    return extras


def _drain_window(spec: Fields) -> tuple[int, int]:
    """Return how many seconds a CN that is stopped serves at least, and at most."""
    delay = spec.table("scalingConfig").number("minDelaySeconds")
    least = DEFAULT_DELAY_SECONDS if delay is None else delay
    return least, max(drain_timeout(spec), least)


def _pre_stop(context: SetContext, log_service: LogService) -> list[str]:
    """Return the hook that keeps a CN up until clients and locks have moved, however it is deleted.

    It knows the other members, because they have sessions of their own on a CN, those
    that come while it serves, too: log stores by the name that all of them share.
    """
    if not _drains(context.spec):
        return []
    script = f"{names.CONFIG_MOUNT}/{names.START_SCRIPT}"
    domain = names.service_domain(context.namespace, context.spec.text("clusterDomain"))
    peers = [f"{context.headless}.{domain}", *log_service.hosts, *_transaction_nodes(context)]
    window = (*_drain_window(context.spec), _QUIET_SECONDS)
    return ["/bin/sh", script, "drain", *map(str, window), *peers]


def _transaction_nodes(context: SetContext) -> list[str]:
    """Return the DNS name of the transaction nodes, if the CNSet says which these are."""
    metadata = context.deps.table("dnSet").table("metadata")
    name = metadata.text("name")
    if not name:
        return []
    namespace = metadata.text("namespace") or context.namespace
    domain = names.service_domain(namespace, context.spec.text("clusterDomain"))
    return [f"{names.headless_name(names.base_name(names.DN_SET, name))}.{domain}"]


def _udf_port(sidecar: Fields) -> int:
    return sidecar.number("port", minimum=1) or names.PORT_UDF


def _udf_sidecar(spec: Fields) -> list[dict[str, Any]]:
    """Return the container that runs Python functions, if the spec asks for it."""
    sidecar = spec.table("pythonUdfSidecar")
    if not sidecar.flag("enabled"):
        return []
    container: dict[str, Any] = {
        "name": names.CONTAINER_UDF,
        "image": sidecar.text("image") or _DEFAULT_UDF_IMAGE,
        "command": [
            "/bin/bash", "-c", f"python -u server.py --address=localhost:{_udf_port(sidecar)}",
        ],
        "securityContext": container_security(read_only=False),
    }  # fmt: skip
    resources = sidecar.table("resources")
    if resources.data:
        container["resources"] = dict(resources.data)
    overlay.apply_to_main(container, sidecar.table("overlay"))
    return [container]
