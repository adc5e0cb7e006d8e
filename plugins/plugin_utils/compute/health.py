# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the compute nodes of a set are heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.logins import answering
from ...module_utils.clients.matrixone import ClusterDetails, Deadline
from ...module_utils.compute import mute
from ...module_utils.compute.pods import pod_at, uuid_of
from ...module_utils.reporting.health import Health, was_silent, without_heartbeat
from ...module_utils.reporting.pods import sql_addresses
from ..logservice.addresses import addresses_of, members_of_dependency
from ..logservice.view import ask_details

_REPLACED: Final = "it was not heard, or did not answer, for too long; it is replaced"
_MUTE: Final = "it answers no login since the transaction node was restarted"
_ANSWER_SECONDS: Final = 3.0
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
    restart = mute.restart_of(_transaction_node(details, members), now)
    if restart is None:
        return Health(silent=silent)
    asked = sql_addresses(mute.to_ask(others, restart))
    answers = answering(asked, min(_ANSWER_SECONDS, deadline.remaining()))
    return Health(
        silent={**silent, **{name: _MUTE for name, answered in answers.items() if not answered}},
        mute=mute.to_replace(answers, restart),
    )


def _transaction_node(details: ClusterDetails, members: Iterable[Pod]) -> Pod | None:
    """Return the Pod of the transaction node that serves."""
    serving = details.serving_tn()
    return pod_at(serving.lock_address, members) if serving is not None else None
