# SPDX-License-Identifier: Apache-2.0
"""Ask HAKeeper which log stores a roll can replace now."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

from ..api.pod_addresses import log_addresses
from ..clients.matrixone import Deadline, MalformedAnswer, MatrixOneError, Unreachable, Unsupported
from ..workload.roll import Turn
from .presence import Presence
from .roll import next_stores, waits_for_scale_in
from .view_query import ask

Json = dict[str, Any]
_ASK_SECONDS = 5.0
_KNOCK_SECONDS = 1.0


def next_log_stores(
    resource: Mapping[str, Any],
    workload: Mapping[str, Any],
    pods: list[Json],
    turn: Turn,
    now: datetime,
) -> tuple[tuple[str, ...], str]:
    """Choose the log stores that are replaced now.

    Where HAKeeper cannot be reached although Kubernetes reaches the stores, the operator has no way
    into their network; an answer that is not understood may come from another release. Then what
    Kubernetes reports has to suffice. A log service that has no leader, or does not answer, is
    waited for, unless what is replaced does not serve anyway.

    Args:
        resource: the LogSet.
        workload: its StatefulSet.
        pods: its Pods.
        turn: what the Pods allow; something may be replaced.
        now: the present, with a time zone.

    Returns:
        Their Pods, or none and what is being waited for.
    """
    present = int(workload["spec"]["replicas"])
    desired = int((resource.get("spec") or {}).get("replicas") or 0)
    addresses, waiting = log_addresses(pods), ""
    try:
        if _reachable(addresses):
            view = ask(addresses, Deadline.after(2 * _ASK_SECONDS), _ASK_SECONDS)
            presence = Presence.of(pods, now.timestamp())
            return next_stores(turn, view, presence, present=present, desired=desired)
    except (Unreachable, MalformedAnswer, Unsupported):
        pass
    except MatrixOneError as error:
        waiting = f"HAKeeper to answer: {error}"
    if turn.replace:
        return turn.replace, ""
    waiting = waiting or waits_for_scale_in(present, desired)
    return (() if waiting else turn.candidates[:1]), waiting


def _reachable(addresses: Sequence[str]) -> bool:
    """Tell whether any of the log stores accepts a connection from here."""

    def knock(address: str) -> bool:
        host, _colon, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS):
                return True
        except OSError:
            return False

    if not addresses:
        return False
    with ThreadPoolExecutor(len(addresses), thread_name_prefix="knock") as pool:
        return any(pool.map(knock, addresses))
