# SPDX-License-Identifier: Apache-2.0
"""What the Pods of a cluster use. What is not known is not zero."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from .errors import KubectlError
from .facts import Cluster
from .kubectl import Json, Kubectl, table_in
from .reading import LABEL
from .sessions import Counts
from .status import sizes
from .terminal import Style, table

_UNITS: Final = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
}
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-z]{0,2})")
_COMPUTE: Final = "CNSet/"


@dataclass(frozen=True, slots=True)
class Usage:
    """What a Pod uses.

    Attributes:
        pod: its name.
        sessions: of users; None if that is not known, or it can have none.
        cpu: cores; None if that is not known.
        memory: bytes; None if that is not known.
        is_compute: whether it can have sessions.
    """

    pod: str
    sessions: int | None
    cpu: float | None
    memory: float | None
    is_compute: bool


def amount(text: Any) -> float | None:
    """Return a quantity of Kubernetes as a number; None if it is none."""
    found = _QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in _UNITS:
        return None
    return float(found[1]) * _UNITS[found[2]]


def metrics(kubectl: Kubectl, cluster: Json) -> Json:
    """Return the metrics of the Pods of a cluster, as the API of metrics has them.

    Raises:
        KubectlError: there is no such API, as there is no metrics server, or it may not be read.
    """
    metadata = cluster["metadata"]
    selector = quote(f"{LABEL}={metadata['name']}", safe="")
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{metadata['namespace']}/pods"
    text = kubectl.run("get", "--raw", f"{path}?labelSelector={selector}")
    try:
        found: Json = json.loads(text)
    except ValueError as error:
        raise KubectlError("the API of metrics answered with something else than JSON") from error
    return found


def usages(
    cluster: Cluster, nodes: dict[str, str], sessions: Counts | None, measured: Json
) -> Iterator[Usage]:
    """Yield what the Pods of a cluster use.

    Args:
        cluster: its facts.
        nodes: id of the compute node by Pod.
        sessions: by the id of the node; None if they are not known.
        measured: metrics of the Pods; empty if they are not known.
    """
    by_pod = {
        str(table_in(one, "metadata").get("name")): one.get("containers") or []
        for one in measured.get("items") or []
    }
    for pod in cluster.pods:
        node, containers = nodes.get(pod.name), by_pod.get(pod.name)
        yield Usage(
            pod=pod.name,
            sessions=None if sessions is None or node is None else sessions.get(node, 0),
            cpu=_sum(containers, "cpu"),
            memory=_sum(containers, "memory"),
            is_compute=pod.part.startswith(_COMPUTE),
        )


def _sum(containers: Sequence[Json] | None, name: str) -> float | None:
    if not containers:
        return None
    amounts = [amount(table_in(one, "usage").get(name)) for one in containers]
    known = [one for one in amounts if one is not None]
    return sum(known) if len(known) == len(amounts) else None


def lines(
    found: Sequence[Usage], cluster: Cluster, unread: Sequence[str], style: Style
) -> list[str]:
    """Return a table of usages, and the storage, for a person."""
    rows = [("POD", "SESSIONS", "CPU", "MEMORY")]
    rows.extend((one.pod, _sessions(one), _cores(one.cpu), _bytes(one.memory)) for one in found)
    texts = table(rows, style)
    if cluster.volumes:
        texts.append(f"Volumes  {sizes(cluster)}")
    if cluster.storage:
        texts.append(f"Data     {cluster.storage}")
    return [*texts, *(f"not known: {text}" for text in unread)]


def _sessions(one: Usage) -> str:
    if not one.is_compute:
        return "-"
    return "?" if one.sessions is None else str(one.sessions)


def _cores(cores: float | None) -> str:
    return "?" if cores is None else f"{cores * 1000:.0f}m"


def _bytes(count: float | None) -> str:
    return "?" if count is None else f"{count / 2**20:.0f}Mi"
