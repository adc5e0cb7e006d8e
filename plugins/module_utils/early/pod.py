# SPDX-License-Identifier: Apache-2.0
"""The Pod of a MatrixoneCluster, for both ways of starting the database."""

from __future__ import annotations

from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..workload.containers import (
    config_map_volume,
    container_security,
    pod_security,
    tcp_probe,
)
from . import config as early_config

Json = dict[str, Any]

OLD_PORTS: Final = {
    "server": names.PORT_SQL,
    "addr-raft": 10000,
    "addr-client": 20000,
    "rpc": 30000,
    "client": 40000,
    "peer": 50000,
    "raft": 20100,
}
"""Ports of the servers before 0.6, by name."""
LAUNCH_PORTS: Final = {"server": names.PORT_SQL, "metrics": names.PORT_METRICS}

_STORE_MOUNTS: Final = (
    {"name": "data", "mountPath": "/store"},
    {"name": "log", "mountPath": "/log"},
)
_LAUNCH_MOUNTS: Final = (
    {"name": "config", "mountPath": early_config.MOUNT, "readOnly": True},
    {"name": names.VOLUME_TEMP, "mountPath": names.TEMP_MOUNT},
)
_IMAGE_DATA_MOUNT: Final = {"name": "data", "mountPath": "/mo-data", "subPath": "mo-data"}
"""Where images that start by themselves keep their data today."""
_LAUNCH: Final = ("/mo-service", "-launch", f"{early_config.MOUNT}/{early_config.LAUNCH_FILE}")
_LAUNCH_WITH_LOG_FILE: Final = (
    f"touch {early_config.LOG_FILE} && tail -n 0 -F {early_config.LOG_FILE} & exec "
    + " ".join(_LAUNCH)
)
"""With a log file nothing reaches the output by itself, and `kubectl logs` would show nothing."""


def left_to_image(spec: Fields, main: Json) -> Json:
    """Return the Pod's spec for an image that starts by itself, as the first operator rendered it.

    Args:
        spec: of the MatrixoneCluster.
        main: the container's name, image and environment.
    """
    container = {**main, **_common(spec, OLD_PORTS), **_given_probes(spec)}
    command = spec.texts("command")
    if command:
        container["command"] = command
    container["volumeMounts"] = [*_STORE_MOUNTS, _IMAGE_DATA_MOUNT]
    return {"containers": [container], **_placement(spec)}


def launched(spec: Fields, main: Json, config_map: str, *, log_to_volume: bool) -> Json:
    """Return the Pod's spec for a database that is started with our configuration.

    Args:
        spec: of the MatrixoneCluster.
        main: the container's name, image and environment.
        config_map: name of the ConfigMap with the configuration.
        log_to_volume: whether the database logs to a file.

    Raises:
        InvalidSpec: There is a command of the user's, too.
    """
    if spec.texts("command"):
        raise InvalidSpec(
            spec.at("command"),
            "needs the runtime image; remove the annotation with the value launch",
        )
    shell = ["/bin/sh", "-c", _LAUNCH_WITH_LOG_FILE]
    container = {
        **main,
        **_common(spec, LAUNCH_PORTS),
        "command": shell if log_to_volume else list(_LAUNCH),
        "volumeMounts": [*_STORE_MOUNTS, *_LAUNCH_MOUNTS],
        **_own_probes(),
        **_given_probes(spec),
        "securityContext": container_security(),
    }
    return {
        "containers": [container],
        "volumes": [
            config_map_volume("config", config_map),
            {"name": names.VOLUME_TEMP, "emptyDir": {}},
        ],
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "securityContext": pod_security(),
        **_placement(spec),
    }


def _common(spec: Fields, ports: dict[str, int]) -> Json:
    """Return what both ways of starting have in common in the container."""
    found: Json = {
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()
        ]
    }
    pull = spec.choice("imagePullPolicy", ("", "Always", "IfNotPresent", "Never"), "")
    if pull:
        found["imagePullPolicy"] = pull
    resources = {
        field: dict(spec.table(field).data)
        for field in ("requests", "limits")
        if spec.table(field).data
    }
    if resources:
        found["resources"] = resources
    return found


def _given_probes(spec: Fields) -> Json:
    probes = ("livenessProbe", "readinessProbe")
    return {name: dict(spec.table(name).data) for name in probes if spec.table(name).data}


def _own_probes() -> Json:
    """Return the probes of a database that begins within five minutes."""
    port = names.PORT_SQL
    return {
        "startupProbe": tcp_probe(port, period=5, timeout=1, failures=60),
        "readinessProbe": tcp_probe(port, period=5, timeout=2, failures=3),
        "livenessProbe": tcp_probe(port, period=10, timeout=5, failures=6),
    }


def _placement(spec: Fields) -> Json:
    """Return the fields that users set on the Pod itself."""
    found: Json = {}
    if spec.number("terminationGracePeriodSeconds") is not None:
        found["terminationGracePeriodSeconds"] = spec.number("terminationGracePeriodSeconds")
    if spec.text("dnsPolicy"):
        found["dnsPolicy"] = spec.text("dnsPolicy")
    for name in ("imagePullSecrets", "tolerations"):
        if spec.items(name):
            found[name] = list(spec.items(name))
    for name in ("affinity", "dnsConfig"):
        if spec.table(name).data:
            found[name] = dict(spec.table(name).data)
    selector = spec.texts_by_key("nodeSelector")
    if selector:
        found["nodeSelector"] = selector
    return found
