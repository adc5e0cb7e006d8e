# SPDX-License-Identifier: Apache-2.0
"""Whether the log stores of a set are heard, and their shards have a quorum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api.pod_addresses import log_addresses
from ..api.pods import live_pods
from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline
from ..reporting.health import Health, without_heartbeat, without_quorum
from .shards import counted
from .storage_check import ask_storage
from .view import ordinal_of_pod
from .view_query import ask

_STORAGE_SECONDS: Final = 2.5


def observe_log_stores(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    deadline: Deadline,
    now: float,
) -> Health:
    """Ask HAKeeper about the log stores of a LogSet, and whether its storage takes what is written.

    Raises:
        MatrixOneError: it does not answer.
    """
    view = ask(log_addresses(live_pods(pods)), deadline, deadline.remaining())
    silent = {
        str(ordinal): min(seconds)
        for ordinal in {ordinal_of_pod(pod["metadata"]["name"]) for pod in pods}
        if (seconds := [view.silent[uuid] for uuid in view.stores_of(ordinal) & set(view.silent)])
    }
    shards = counted(view.shards)
    limit = min(_STORAGE_SECONDS, deadline.remaining())
    storage, credential = ask_storage(session, resource, pods, limit, now)
    return Health(
        silent=without_heartbeat(
            pods, silent, lambda pod: str(ordinal_of_pod(pod["metadata"]["name"])), now
        ),
        lacking=without_quorum((one.number, one.available, one.replicas) for one in shards),
        storage=storage,
        credential=credential,
        shards=[one.as_field() for one in shards],
    )
