# SPDX-License-Identifier: Apache-2.0
"""Whether the proxies of a set answer, and are heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api.digests import hash_uuid
from ..api.pod_addresses import sql_addresses
from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline, MatrixOneError
from ..clients.mysql_handshake import ungreeted
from ..passes.hakeeper import ask_details, of_dependency
from ..reporting.health import Health, without_heartbeat

_UNANSWERED: Final = "it accepts connections, but does not greet clients"
Pod = Mapping[str, Any]


def observe_proxies(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Pod],
    deadline: Deadline,
    now: float,
) -> Health:
    """Connect to each ready proxy of a ProxySet as a client would, and ask HAKeeper about them.

    Half of the time is for each question.

    Raises:
        MatrixOneError: HAKeeper does not answer, while all proxies do.
    """
    ungreeted_pods = ungreeted(sql_addresses(pods), deadline.remaining() / 2)
    unanswered = dict.fromkeys(ungreeted_pods, _UNANSWERED)
    try:
        details = ask_details(of_dependency(session, resource), deadline)
    except MatrixOneError:
        if unanswered:
            return Health(silent=unanswered)
        raise
    silent = {store.uuid: store.silent for store in details.proxies}
    return Health(silent={**without_heartbeat(pods, silent, _uuid_of, now), **unanswered})


def _uuid_of(pod: Pod) -> str:
    """Return the id that the start script gives a proxy."""
    return hash_uuid(f"{pod['metadata']['name']}.{pod['metadata']['namespace']}.svc")
