# SPDX-License-Identifier: Apache-2.0
"""Pools on fake nodes: manifests, and a HAKeeper with compute nodes that answer.

Nothing runs in the Pods of fake nodes. This HAKeeper knows each Pod of the namespace as soon as it
runs, as if it had registered, keeps work states and labels, and names one query service for all.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    WorkState,
    decoding,
    framing,
    protobuf,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.records import (
    TICKS_PER_SECOND,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.tables import (
    logservice,
    services,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import pods as cn_pods

from tests.clients.matrixone import scripted
from tests.support.api import Api

Json = dict[str, Any]

API_VERSION = "core.matrixorigin.io/v1alpha1"
PHASE = "pool.matrixorigin.io/phase"
CLAIMED_BY = "pool.matrixorigin.io/claimed-by"
TRANSACTION_NODE = "transaction-node"
"""Its id."""
_NOW = 10_000_000
"""Ticks of HAKeeper."""
_QUERY_FLAGS = framing.Flag.CHECKSUM | framing.Flag.HEADER


def pool(name: str, hakeeper: str, max_idle: int = 2, **spec: Any) -> Json:
    """Return a pool whose Pods are labelled with its name and drain without a delay.

    A Pod counts in a roll once it has been ready for a second, not for five as it does by default.
    """
    storage = {"s3": {"type": "minio", "path": "bucket/data", "endpoint": "http://minio:9000"}}
    scaling = {"maxIdle": max_idle, **spec.pop("scaling", {})}
    template = {
        "image": "matrixorigin/matrixone:1.3.0",
        "minReadySeconds": 1,
        "scalingConfig": {"minDelaySeconds": 0, "storeDrainTimeout": "60s"},
        **spec.pop("template", {}),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "CNPool",
        "metadata": {"name": name},
        "spec": {
            "podLabels": {"pool": name},
            "deps": {"externalLogSet": {"haKeeperEndpoint": hakeeper, "sharedStorage": storage}},
            "strategy": {"scaleStrategy": scaling, "updateStrategy": {}},
            "template": template,
            **spec,
        },
    }


def claim(name: str, pool_name: str, tenant: str = "", **spec: Any) -> Json:
    """Return a claim of a Pod of a pool for a tenant, by default of the claim's name."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CNClaim",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"pool": pool_name}},
            "ownerName": tenant or name,
            "cnLabels": [{"key": "account", "values": [tenant or name]}],
            **spec,
        },
    }


def claim_set(name: str, pool_name: str, replicas: int) -> Json:
    """Return a set of claims."""
    return {
        "apiVersion": API_VERSION,
        "kind": "CNClaimSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"tenant": name}},
            "template": {
                "metadata": {"labels": {"tenant": name}},
                "spec": {
                    "selector": {"matchLabels": {"pool": pool_name}},
                    "cnLabels": [{"key": "account", "values": [name]}],
                },
            },
        },
    }


@dataclass
class Registry:
    """What a HAKeeper has been told.

    Attributes:
        address: where it listens.
        states, labels: of compute nodes, by their ids.
        sessions: that every compute node says it has.
        silent: seconds since the last heartbeat of stores, by their ids; others are heard.
        asked: number of requests by method.
    """

    address: str = ""
    states: dict[str, WorkState] = field(default_factory=dict)
    labels: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    sessions: int = 0
    silent: dict[str, float] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, pod: Json) -> tuple[WorkState, dict[str, list[str]]]:
        """Return work state and labels of the store of a Pod."""
        uuid = cn_pods.uuid_of(pod)
        return self.states.get(uuid, WorkState.DRAINING), self.labels.get(uuid, {})


class _Listed:
    """The compute nodes' Pods of a namespace, listed at most once a second."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._until, self._found = 0.0, list[Json]()

    def pods(self) -> list[Json]:
        if time.monotonic() > self._until:
            labels = "matrixorigin.io/component=CNSet"
            self._found = self._api.listed("pods", self._namespace, labels)
            self._until = time.monotonic() + 1.0
        return self._found


@contextlib.contextmanager
def hakeeper(api: Api, namespace: str) -> Iterator[Registry]:
    """Answer as a HAKeeper that every running Pod of a pool has registered with."""
    told, listed = Registry(), _Listed(api, namespace)

    def tick(uuid: str) -> int:
        return _NOW - round(told.silent.get(uuid, 0.0) * TICKS_PER_SECOND)

    def stores(query: str) -> list[Json]:
        running = [pod for pod in listed.pods() if (pod.get("status") or {}).get("podIP")]
        return [
            {
                "UUID": uuid,
                "Tick": tick(uuid),
                "WorkState": told.states.setdefault(uuid, WorkState.DRAINING).number,
                "Labels": {
                    key: {"Labels": values} for key, values in told.labels.get(uuid, {}).items()
                },
                "QueryAddress": query,
                "SQLAddress": f"{pod['status']['podIP']}:6001",
            }
            for pod in running
            if (uuid := cn_pods.uuid_of(pod))
        ]

    def set_labels(values: Json, *, merge: bool) -> None:
        found = {
            key: list(one.get("Labels") or []) for key, one in (values.get("Labels") or {}).items()
        }
        # As the real one: a patch without labels keeps the old ones.
        if found or not merge:
            told.labels[values["UUID"]] = found

    def answered(asked: Json) -> bytes:
        method = logservice.Method(asked["Method"])
        known: Json = {"IsHAKeeper": True}
        with told.lock:
            told.asked[method.name] = told.asked.get(method.name, 0) + 1
            if method == logservice.Method.GET_CLUSTER_DETAILS:
                known["ClusterDetails"] = {
                    "CNStores": stores(query),
                    "TNStores": [{"UUID": TRANSACTION_NODE, "Tick": tick(TRANSACTION_NODE)}],
                    "LogStores": [{"UUID": "log-store", "Tick": _NOW}],
                }
            if method == logservice.Method.PATCH_CN_STORE:
                values = asked["CNStateLabel"]
                told.states[values["UUID"]] = WorkState.of(values.get("State", 0))
                set_labels(values, merge=True)
            if method == logservice.Method.UPDATE_CN_LABEL:
                set_labels(asked["CNStoreLabel"], merge=False)
        return scripted.fitting(asked, **known)

    with _queries(told) as query, scripted.serving(scripted.replying(answered)) as told.address:
        yield told


@contextlib.contextmanager
def _queries(told: Registry) -> Iterator[str]:
    """Answer as the query service of every compute node.

    It listens where clients dial what a peer names: at an address that is not the loopback's.
    """
    listener = socket.create_server((_own_address(), 0))

    def serve(peer: socket.socket) -> None:
        buffer = framing.FrameBuffer()
        with contextlib.suppress(OSError), peer:
            while data := peer.recv(1 << 16):
                for frame in buffer.feed(data):
                    asked = decoding.decode(services.QUERY_REQUEST, frame.body)
                    peer.sendall(_counted(asked, told.sessions))

    def accept() -> None:
        while True:
            try:
                peer, _address = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(peer,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    host, port = listener.getsockname()[:2]
    try:
        yield f"{host}:{port}"
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _counted(asked: Json, sessions: int) -> bytes:
    values: Json = {name: asked[name] for name in ("RequestID", "CmdMethod")}
    if asked["CmdMethod"] == services.QueryMethod.SHOW_PROCESS_LIST:
        listed = [{"Account": "tenant", "FromProxy": True}] * sessions
        values["ShowProcessListResponse"] = {"Sessions": listed}
    if asked["CmdMethod"] == services.QueryMethod.GET_PIPELINE_INFO:
        values["GetPipelineInfoResponse"] = {"Count": 0}
    body = protobuf.encode(services.QUERY_RESPONSE, values)
    return framing.encode_frame(framing.Frame(_QUERY_FLAGS, body, timeout=10**9))


def _own_address() -> str:
    """Return an address of this machine that packets to others leave from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def phases(pods: list[Json]) -> dict[str, int]:
    """Return the number of Pods by their phase in a pool."""
    found: dict[str, int] = {}
    for one in pods:
        phase = (one["metadata"].get("labels") or {}).get(PHASE, "")
        found[phase] = found.get(phase, 0) + 1
    return found


def bindings(pods: list[Json]) -> dict[str, list[str]]:
    """Return the Pods that are bound, by the claim."""
    found: dict[str, list[str]] = {}
    for one in pods:
        labels = one["metadata"].get("labels") or {}
        if labels.get(PHASE) == "Bound":
            found.setdefault(labels[CLAIMED_BY], []).append(one["metadata"]["name"])
    return found
