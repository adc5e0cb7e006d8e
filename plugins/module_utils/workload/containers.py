# SPDX-License-Identifier: Apache-2.0
"""Parts of Pods and their containers: security, environment, volumes, probes."""

from __future__ import annotations

from typing import Any, Final

from ..api import names

Json = dict[str, Any]

_MODE_READABLE: Final = 0o644
_USER: Final = 1000


def pod_security() -> Json:
    """Return the Pod's part of the restricted security profile.

    The group owns what volumes hold, so that a data volume written by another user stays usable.
    """
    return {
        "runAsNonRoot": True,
        "runAsUser": _USER,
        "runAsGroup": _USER,
        "fsGroup": _USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security(*, read_only: bool = True) -> Json:
    """Return the container's part of the restricted security profile."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": read_only,
        "capabilities": {"drop": ["ALL"]},
    }


def field_env(name: str, path: str) -> Json:
    """Return an environment variable that holds a field of the Pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def value_env(name: str, value: str) -> Json:
    """Return an environment variable with a fixed value."""
    return {"name": name, "value": value}


def config_map_volume(name: str, config_map: str) -> Json:
    """Return a volume that shows a ConfigMap."""
    return {"name": name, "configMap": {"name": config_map, "defaultMode": _MODE_READABLE}}


def empty_data_volume() -> Json:
    """Return the data volume of a set whose data may be deleted with its Pod."""
    return {"name": names.VOLUME_DATA, "emptyDir": {}}


def tcp_probes(port: int, readiness_period: int = 3) -> dict[str, Json]:
    """Return the probes of a store.

    Starting may replay a long log, so it gets half an hour; it is noticed within seconds. A store
    is restarted only after two minutes without a single accepted connection.

    Args:
        port: the port that takes connections when the store serves.
        readiness_period: seconds between two checks of a store that has started.
    """
    return {
        "startupProbe": tcp_probe(port, period=2, timeout=1, failures=900),
        "readinessProbe": tcp_probe(port, period=readiness_period, timeout=2, failures=3),
        "livenessProbe": tcp_probe(port, period=30, timeout=5, failures=4),
    }


def tcp_probe(port: int, *, period: int, timeout: int, failures: int) -> Json:
    """Return a probe that connects to a port.

    Args:
        port: the port.
        period: seconds between two tries.
        timeout: seconds that a connection may take.
        failures: how many tries in a row must fail.
    """
    return {
        "tcpSocket": {"port": port},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }
