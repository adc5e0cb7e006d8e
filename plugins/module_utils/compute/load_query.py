# SPDX-License-Identifier: Apache-2.0
"""Ask compute nodes what they still serve; what they do not answer stays unknown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from ..clients.matrixone import (
    CNStoreRecord,
    Deadline,
    LockService,
    MatrixOneError,
    QueryService,
    Reach,
    Unsupported,
)
from .drain import Locks
from .load import Load, user_sessions

_AT_ONCE = 8
_SECONDS = 3.0


def loads_of(
    records: Sequence[CNStoreRecord | None], deadline: Deadline, reach: Reach = Reach.NETWORK
) -> Sequence[Load]:
    """Ask all compute nodes at once, so that one that hangs does not delay the others."""
    within = deadline.within(_SECONDS)
    if not any(records):
        return [Load()] * len(records)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="measure") as pool:
        return list(pool.map(lambda record: load_of(record, within, reach), records))


def locks_of(service: LockService, uuid: str, deadline: Deadline) -> Locks:
    """Ask a lock service whether a compute node has handed its locks over."""
    try:
        return Locks.HANDED_OVER if service.can_restart(uuid, deadline) else Locks.HELD
    except Unsupported:
        return Locks.UNSUPPORTED


def load_of(record: CNStoreRecord | None, deadline: Deadline, reach: Reach = Reach.NETWORK) -> Load:
    """Ask a compute node how busy it is; what it does not say stays unknown."""
    if record is None:
        return Load()
    try:
        with QueryService(record.query_address, reach) as query:
            sessions = query.sessions(deadline)
            return Load(
                user_sessions((session.account, session.from_proxy) for session in sessions),
                _counted(lambda: query.pipelines(deadline)),
                _counted(lambda: query.replicas(record, deadline)),
            )
    except MatrixOneError:
        return Load()


def _counted(call: Callable[[], int]) -> int:
    """Return a count; what a release does not have, it has none of."""
    try:
        return call()
    except Unsupported:
        return 0
