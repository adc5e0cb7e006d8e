# SPDX-License-Identifier: Apache-2.0
"""Whether compute nodes found a transaction node that was restarted.

One that did not is heard by HAKeeper and accepts connections, but answers no login, for minutes;
and a proxy sends it each new session, because it has the fewest. Seen after a cut of a transaction
node and a log store together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from ..api.pods import main_process, ready_at
from ..api.timestamps import unix_time

SETTLED_SECONDS: Final = 15.0
"""Compute nodes usually find a new transaction node within so many seconds."""
ALONE_SECONDS: Final = 60.0
"""Where none answers, the transaction node itself may need so many seconds to begin."""
_ENDED_SECONDS: Final = 180.0
"""Who has answered once has found it, so it need not be asked for ever."""

Pod = Mapping[str, Any]


class Restart(NamedTuple):
    """The start of the process of a transaction node that serves.

    Attributes:
        at: when the process started, Unix time.
        ready_for: for how many seconds it has been ready.
    """

    at: float
    ready_for: float


def restart_of(transaction_node: Pod | None, now: float) -> Restart | None:
    """Return when a transaction node started; None where it is not ready.

    Args:
        transaction_node: its Pod; None where it is unknown.
        now: the present, Unix time.
    """
    since = ready_at(transaction_node) if transaction_node is not None else None
    if transaction_node is None or since is None:
        return None
    return Restart(unix_time(main_process(transaction_node)), now - since)


def to_ask(pods: Iterable[Pod], restart: Restart) -> list[Pod]:
    """Return the compute nodes that had to find a new transaction node a moment ago."""
    if not SETTLED_SECONDS <= restart.ready_for <= _ENDED_SECONDS:
        return []
    return [pod for pod in pods if _is_older(pod, restart.at)]


def _is_older(pod: Pod, restarted: float) -> bool:
    process = main_process(pod)
    return bool(process) and unix_time(process) < restarted


def to_replace(answers: Mapping[str, bool], restart: Restart) -> tuple[str, ...]:
    """Return the compute nodes that are replaced because they do not answer.

    Args:
        answers: whether each that could be reached answered a login.
        restart: of the transaction node.
    """
    if not any(answers.values()) and restart.ready_for < ALONE_SECONDS:
        return ()
    return tuple(sorted(name for name, answered in answers.items() if not answered))
