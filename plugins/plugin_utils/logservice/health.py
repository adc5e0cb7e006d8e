# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the log stores of a set are heard, and their shards have a quorum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...module_utils.api.pod_addresses import log_addresses
from ...module_utils.api.pods import live_pods
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import Deadline
from ...module_utils.logservice.view import ordinal_of_pod
from ...module_utils.reporting.health import Health, without_heartbeat, without_quorum
from .storage import ask_storage
from .view import ask

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
    limit = min(_STORAGE_SECONDS, deadline.remaining())
    storage, credential = ask_storage(session, resource, pods, limit, now)
    return Health(
        silent=without_heartbeat(
            pods, silent, lambda pod: str(ordinal_of_pod(pod["metadata"]["name"])), now
        ),
        lacking=without_quorum(
            (shard.number, len(shard.alive), max(len(shard.members), shard.desired or 0))
            for shard in view.shards
        ),
        storage=storage,
        credential=credential,
    )
