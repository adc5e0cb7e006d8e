# SPDX-License-Identifier: Apache-2.0
"""Where the processes in Pods can be reached, by the addresses that the Pods have at present."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import names
from .pods import is_ready, is_running

Pod = Mapping[str, Any]


def sql_addresses(pods: Iterable[Pod]) -> dict[str, tuple[str, int]]:
    """Return IP address and port at which each ready Pod answers SQL, by its name."""
    return {
        pod["metadata"]["name"]: (pod["status"]["podIP"], names.PORT_SQL)
        for pod in pods
        if is_ready(pod) and pod["status"].get("podIP")
    }


def running_sql_addresses(pods: Iterable[Pod]) -> dict[str, tuple[str, int]]:
    """Return where the process of each Pod that runs answers SQL, if it does, by the Pod's name."""
    return {
        pod["metadata"]["name"]: (pod["status"]["podIP"], names.PORT_SQL)
        for pod in pods
        if is_running(pod) and pod["status"].get("podIP")
    }


def log_addresses(pods: Iterable[Pod]) -> list[str]:
    """Return the addresses of the log stores that run, ready ones first."""
    stores = [
        pod
        for pod in pods
        if (pod["metadata"].get("labels") or {}).get(names.LABEL_COMPONENT) == names.LOG_SET
        and (pod.get("status") or {}).get("podIP")
    ]
    stores.sort(key=lambda pod: (not is_ready(pod), str(pod["metadata"]["name"])))
    return [_at(pod["status"]["podIP"], names.PORT_LOG) for pod in stores]


def reachable(address: str, pods: Iterable[Pod]) -> str:
    """Return an address that works from anywhere Pods are routed to.

    MatrixOne advertises DNS names that only the cluster resolves: the name of a known Pod is
    replaced by its present IP.

    Args:
        address: ``host:port`` as HAKeeper has it.
        pods: Pods of log service and transaction node.
    """
    found = pod_at(address, pods)
    ip = (found.get("status") or {}).get("podIP") if found is not None else None
    return _at(ip, address.rpartition(":")[2]) if ip else address


def pod_at(address: str, pods: Iterable[Pod]) -> Pod | None:
    """Return the Pod that an address belongs to; None where it is not among those given.

    Args:
        address: ``host:port`` as HAKeeper has it; the host begins with the name of the Pod.
        pods: to look among.
    """
    first = address.rpartition(":")[0].partition(".")[0]
    return next((pod for pod in pods if pod["metadata"]["name"] == first), None)


def _at(host: str, port: object) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
