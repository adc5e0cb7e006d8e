# SPDX-License-Identifier: Apache-2.0
"""Whether the transaction nodes of a set are heard and have their shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..api import names
from ..clients.kubernetes.session import Session
from ..clients.matrixone import Deadline
from ..passes.hakeeper import ask_details, of_dependency
from ..reporting.health import Health, was_silent, without_heartbeat
from ..workload.sets import SetContext
from .shards import store_uuid

_RESTARTED: Final = "it was not heard for too long, so it may refuse commits; it is restarted"


def observe_transaction_nodes(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    deadline: Deadline,
    now: float,
) -> Health:
    """Ask HAKeeper about the transaction nodes of a DNSet.

    Raises:
        MatrixOneError: it does not answer.
        InvalidSpec: the DNSet cannot be read.
    """
    details = ask_details(of_dependency(session, resource), deadline)
    context = SetContext.of(names.DN_SET, dict(resource))
    silent = without_heartbeat(
        pods,
        {store.uuid: store.silent for store in details.tn_stores},
        lambda pod: store_uuid(context, int(pod["metadata"]["name"].rpartition("-")[2])),
        now,
    )
    restarted = {pod["metadata"]["name"]: _RESTARTED for pod in pods if was_silent(pod)}
    return Health(silent={**restarted, **silent})
