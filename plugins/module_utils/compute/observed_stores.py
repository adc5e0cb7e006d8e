# SPDX-License-Identifier: Apache-2.0
"""A compute node by its Pod, and by what HAKeeper answered about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..api.pods import main_process
from ..clients.matrixone.records import ClusterDetails, CNStoreRecord
from ..reporting.health import fell_silent, is_isolated, is_settled
from . import pods as cn_pods
from .pass_input import PassInput
from .stores import CNStore


def observed(
    pass_input: PassInput, pod: Mapping[str, Any], details: ClusterDetails | None
) -> CNStore:
    """Return what is known of the compute node in a Pod.

    Args:
        pass_input: what the pass starts from.
        pod: a Pod of the set.
        details: what HAKeeper answered; None if it did not.
    """
    if details is None:
        return cn_pods.cn_store(pod, None, asked=False)
    record = details.cn_store(cn_pods.uuid_of(pod))
    unresponsive = pod["metadata"]["name"] in pass_input.unresponsive
    store = cn_pods.cn_store(pod, record, asked=True, unresponsive=unresponsive)
    if record is None:
        return store
    return replace(
        store,
        unheard=_silent(pass_input, pod, record),
        peers_heard=is_isolated(
            record.silent,
            [one.silent for one in details.tn_stores],
            settled=is_settled(pass_input.log_set, details.log_silences, pass_input.now),
        ),
    )


def _silent(pass_input: PassInput, pod: Mapping[str, Any], record: CNStoreRecord) -> float:
    """Return for how many seconds the present process of a compute node has been silent."""
    fell = fell_silent(main_process(pod), record.silent, pass_input.now)
    return record.silent if fell else 0.0
