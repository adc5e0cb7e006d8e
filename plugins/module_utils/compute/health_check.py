# SPDX-License-Identifier: Apache-2.0
"""Whether the compute nodes of a set are heard."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..api.pod_addresses import pod_at, sql_addresses
from ..clients.kubernetes.session import Session
from ..clients.logins import answering
from ..clients.matrixone import ClusterDetails, Deadline
from ..passes.hakeeper import addresses_of, ask_details, members_of_dependency
from ..reporting.health import Health, was_silent, without_heartbeat
from . import tn_restart
from .pods import uuid_of

_REPLACED: Final = (
    "it was not heard, or did not answer, for too long; it is replaced unless it resumes"
)
_UNANSWERED: Final = "it answers no login since the transaction node was restarted"
_ANSWER_SECONDS: Final = 3.0
_MOST_ASKED: Final = 32
"""Each is asked by a thread of its own."""
Pod = Mapping[str, Any]


def observe_compute_nodes(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Pod],
    deadline: Deadline,
    now: float,
) -> Health:
    """Ask HAKeeper about the compute nodes of a CNSet.

    After a restart of the transaction node, those that HAKeeper hears are asked, too.

    Raises:
        MatrixOneError: HAKeeper does not answer.
    """
    members = members_of_dependency(session, resource)
    details = ask_details(addresses_of(resource, members), deadline)
    heartbeats = {store.uuid: store.silent for store in details.cn_stores}
    unheard = without_heartbeat(pods, heartbeats, uuid_of, now)
    replaced = {pod["metadata"]["name"]: _REPLACED for pod in pods if was_silent(pod)}
    silent = {**replaced, **unheard}
    others = [pod for pod in pods if pod["metadata"]["name"] not in silent]
    logins = after_restart(details, members, others, deadline, now)
    unanswered = dict.fromkeys(logins.unanswered, _UNANSWERED)
    return Health(silent={**silent, **unanswered}, unresponsive=logins.replaced)


class Logins(NamedTuple):
    """Which compute nodes answer no login after a restart of the transaction node.

    Attributes:
        unanswered: all of them.
        replaced: those that are replaced because they do not.
    """

    unanswered: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


def after_restart(
    details: ClusterDetails,
    members: Iterable[Pod],
    pods: Iterable[Pod],
    deadline: Deadline,
    now: float,
) -> Logins:
    """Ask those compute nodes for a login that had to find a new transaction node a moment ago.

    Of many, some are asked each time.

    Args:
        details: what HAKeeper answered.
        members: Pods of log service and transaction nodes.
        pods: compute nodes that HAKeeper hears.
        deadline: for the answers.
        now: the present, Unix time.
    """
    restart = tn_restart.restart_of(_transaction_node(details, members), now)
    if restart is None:
        return Logins()
    due = tn_restart.to_ask(pods, restart)
    asked = sql_addresses(random.sample(due, min(_MOST_ASKED, len(due))))
    answers = answering(asked, min(_ANSWER_SECONDS, deadline.remaining()))
    silent = tuple(name for name, answered in answers.items() if not answered)
    return Logins(silent, tn_restart.to_replace(answers, restart))


def _transaction_node(details: ClusterDetails, members: Iterable[Pod]) -> Pod | None:
    """Return the Pod of the transaction node that serves."""
    serving = details.serving_tn()
    return pod_at(serving.lock_address, members) if serving is not None else None
