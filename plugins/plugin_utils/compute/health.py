# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the compute nodes of a set are heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import Deadline
from ...module_utils.compute.pods import uuid_of
from ...module_utils.reporting.health import Health, was_silent, without_heartbeat
from ..logservice.addresses import of_dependency
from ..logservice.view import ask_details

_REFUSED: Final = "it was not heard for too long, so its commits may be refused; it is replaced"


def observe_compute_nodes(
    session: Session,
    resource: Mapping[str, Any],
    pods: Sequence[Mapping[str, Any]],
    deadline: Deadline,
    now: float,
) -> Health:
    """Ask HAKeeper about the compute nodes of a CNSet.

    Raises:
        MatrixOneError: it does not answer.
    """
    details = ask_details(of_dependency(session, resource), deadline)
    silent = {store.uuid: store.silent for store in details.cn_stores}
    refused = {pod["metadata"]["name"]: _REFUSED for pod in pods if was_silent(pod)}
    return Health(silent={**refused, **without_heartbeat(pods, silent, uuid_of, now)})
