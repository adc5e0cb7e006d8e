# SPDX-License-Identifier: Apache-2.0
"""Whether compute nodes found a transaction node that was restarted.

One that did not is heard by HAKeeper and accepts connections, but answers no login, for minutes;
and a proxy sends it each new session, because it has the fewest. Seen after a cut of a transaction
node and a log store together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..api import names
from ..api.timestamps import unix_time
from ..reporting.pods import is_ready, main_process, ready_at

SETTLED_SECONDS: Final = 15.0
"""Compute nodes usually find a new transaction node within so many seconds."""
ALONE_SECONDS: Final = 60.0
"""Where none answers, the transaction node itself may need so many seconds to begin."""
_ENDED_SECONDS: Final = 180.0
"""Who has answered once has found it, so it need not be asked for ever."""

Pod = Mapping[str, Any]


def seconds_since_restart(transaction_node: Pod | None, now: float) -> float | None:
    """Return for how many seconds a transaction node has been ready; None where it is not.

    Args:
        transaction_node: its Pod; None where it is unknown.
        now: the present, Unix time.
    """
    since = ready_at(transaction_node) if transaction_node is not None else None
    return now - since if since is not None else None


def to_ask(pods: Iterable[Pod], transaction_node: Pod | None, now: float) -> list[Pod]:
    """Return the ready compute nodes that had to find a new transaction node a moment ago.

    Args:
        pods: of compute nodes.
        transaction_node: the Pod of the one that serves; None where it is unknown.
        now: the present, Unix time.
    """
    since = seconds_since_restart(transaction_node, now)
    if transaction_node is None or since is None:
        return []
    if not SETTLED_SECONDS <= since <= _ENDED_SECONDS:
        return []
    restarted = unix_time(main_process(transaction_node))
    return [pod for pod in pods if _is_older(pod, restarted)]


def _is_older(pod: Pod, restarted: float) -> bool:
    process = main_process(pod)
    return bool(process) and unix_time(process) < restarted and is_ready(pod)


def to_replace(answers: Mapping[str, bool], since: float) -> tuple[str, ...]:
    """Return the compute nodes that are replaced because they do not answer.

    Args:
        answers: whether each that could be reached answered a login.
        since: seconds since the transaction node is ready.
    """
    if not any(answers.values()) and since < ALONE_SECONDS:
        return ()
    return tuple(sorted(name for name, answered in answers.items() if not answered))


def address(pod: Pod) -> tuple[str, int] | None:
    """Return where a compute node answers SQL; None while it has no address."""
    host = (pod.get("status") or {}).get("podIP")
    return (str(host), names.PORT_SQL) if host else None
