# SPDX-License-Identifier: Apache-2.0
"""Which compute nodes of a pool give no sign of life, and which of them have to be replaced."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..api.pods import main_process
from ..clients.matrixone import ClusterDetails, Deadline
from ..compute.health_check import after_restart
from ..compute.pods import uuid_of
from ..reporting.health import fell_silent, is_isolated, is_settled

Pod = Mapping[str, Any]


class Silence(NamedTuple):
    """Compute nodes by the name of their Pod.

    Attributes:
        silent: those that HAKeeper does not hear any more, or that answer no login.
        refused: those that have to be replaced (``StoreFacts.refused``).
    """

    silent: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


def silence_among(
    pods: Mapping[str, Pod],
    details: ClusterDetails,
    members: Sequence[Pod],
    log_set: Callable[[], Pod | None],
    deadline: Deadline,
) -> Silence:
    """Tell which Pods HAKeeper does not hear; ask the others after a restart.

    Args:
        pods: of a pool, by name.
        details: what HAKeeper answered.
        members: Pods of log service and transaction nodes.
        log_set: reads the LogSet, if the log service is none of outside; where a Pod is silent.
        deadline: for the answers.
    """
    now = time.time()
    seconds = {store.uuid: store.silent for store in details.cn_stores}
    unheard: dict[str, float] = {}
    for name, pod in pods.items():
        silent = seconds.get(uuid_of(pod))
        if silent is not None and fell_silent(main_process(pod), silent, now):
            unheard[name] = silent
    peers = [store.silent for store in details.tn_stores]
    settled = not unheard or is_settled(log_set(), details.log_silences, now)
    isolated = {
        name for name, silent in unheard.items() if is_isolated(silent, peers, settled=settled)
    }
    heard = [pod for name, pod in pods.items() if name not in unheard]
    logins = after_restart(details, members, heard, deadline, now)
    return Silence(
        frozenset({*unheard, *logins.unanswered}), frozenset({*isolated, *logins.replaced})
    )
