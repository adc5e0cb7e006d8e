# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A compute node by its Pod, and by what HAKeeper answered about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.api.pods import main_process
from ...module_utils.clients.matrixone import ClusterDetails, CNStoreRecord, WorkState
from ...module_utils.compute import pods as cn_pods
from ...module_utils.compute.stores import CNStore, Registration, State
from ...module_utils.reporting.health import fell_silent, is_estranged, is_settled
from .situation import Situation

_STATES = {
    WorkState.UNKNOWN: State.UNKNOWN,
    WorkState.WORKING: State.WORKING,
    WorkState.DRAINING: State.DRAINING,
    WorkState.DRAINED: State.DRAINED,
}


def observed(
    situation: Situation, pod: Mapping[str, Any], details: ClusterDetails | None
) -> CNStore:
    """Return what is known of the compute node in a Pod.

    Args:
        situation: what the pass starts from.
        pod: a Pod of the set.
        details: what HAKeeper answered; None if it did not.
    """
    if details is None:
        return cn_pods.cn_store(pod, None, asked=False)
    record = details.cn_store(cn_pods.uuid_of(pod))
    known = None
    if record is not None:
        known = Registration(
            _STATES[record.work_state],
            record.labels,
            record.expired,
            silent=_silent(situation, pod, record),
            estranged=is_estranged(
                record.silent,
                [one.silent for one in details.tn_stores],
                settled=is_settled(situation.log_set, details.log_silences, situation.now),
            ),
        )
    mute = pod["metadata"]["name"] in situation.mute
    return cn_pods.cn_store(pod, known, asked=True, mute=mute)


def _silent(situation: Situation, pod: Mapping[str, Any], record: CNStoreRecord) -> float:
    """Return for how many seconds the present process of a compute node has been silent."""
    fell = fell_silent(main_process(pod), record.silent, situation.now)
    return record.silent if fell else 0.0
