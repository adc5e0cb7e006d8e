# SPDX-License-Identifier: Apache-2.0
"""Which compute nodes of a pool give no sign of life, and which of them have to be replaced."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..api import names
from ..api.pod_addresses import reachable
from ..api.pods import main_process
from ..clients.matrixone import ClusterDetails, Deadline
from ..compute.health_check import after_restart
from ..compute.pods import uuid_of
from ..compute.resume_query import that_resume
from ..reporting.health import fell_silent, is_isolated, is_settled

_AWAITED_SECONDS: Final = 30.0
"""HAKeeper itself gives up a compute node that it has not heard for so long."""
Pod = Mapping[str, Any]


class Silence(NamedTuple):
    """Compute nodes by the name of their Pod.

    Attributes:
        silent: those that HAKeeper does not hear any more, or that answer no login.
        refused: those that have to be replaced (``StoreFacts.refused``).
    """

    silent: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()


def silence_among(
    pods: Mapping[str, Pod],
    details: ClusterDetails,
    members: Sequence[Pod],
    log_set: Callable[[], Pod | None],
    deadline: Deadline,
) -> Silence:
    """Tell which Pods HAKeeper does not hear; ask the others after a restart.

    Args:
        pods: of a pool, by name.
        details: what HAKeeper answered.
        members: Pods of log service and transaction nodes.
        log_set: reads the LogSet, if the log service is none of outside; where a Pod is silent.
        deadline: for the answers.
    """
    now = time.time()
    seconds = {store.uuid: store.silent for store in details.cn_stores}
    unheard: dict[str, float] = {}
    for name, pod in pods.items():
        silent = seconds.get(uuid_of(pod))
        if silent is not None and fell_silent(main_process(pod), silent, now):
            unheard[name] = silent
    peers = [store.silent for store in details.tn_stores]
    settled = not unheard or is_settled(log_set(), details.log_silences, now)
    isolated = {
        name for name, silent in unheard.items() if is_isolated(silent, peers, settled=settled)
    }
    heard = [pod for name, pod in pods.items() if name not in unheard]
    logins = after_restart(details, members, heard, deadline, now)
    lately = {name: pods[name] for name in isolated if unheard[name] <= _AWAITED_SECONDS}
    awaited = may_return(lately, heard, details, deadline)
    return Silence(
        frozenset({*unheard, *logins.unanswered}),
        frozenset({*(isolated - awaited), *logins.replaced}),
    )


def may_return(
    isolated: Mapping[str, Pod], heard: Sequence[Pod], details: ClusterDetails, deadline: Deadline
) -> frozenset[str]:
    """Return the isolated Pods whose peers resume by themselves: they serve on when they are back.

    They cannot be asked themselves: one that is heard is asked, of the same template and image.

    Args:
        isolated: Pods that the transaction node may take for dead, by name.
        heard: Pods of the pool that HAKeeper hears.
        details: what HAKeeper answered.
        deadline: for the answers.
    """
    addresses: dict[str, str] = {}
    programs: dict[tuple[str, str], str] = {}
    sought = {_program(pod) for pod in isolated.values()}
    for pod in heard:
        record, program = details.cn_store(uuid_of(pod)), _program(pod)
        if record is not None and program in sought and program not in programs:
            programs[program] = pod["metadata"]["name"]
            addresses[programs[program]] = reachable(record.lock_address, heard)
    resuming = that_resume(addresses, deadline)
    return frozenset(
        name for name, pod in isolated.items() if programs.get(_program(pod)) in resuming
    )


def _program(pod: Pod) -> tuple[str, str]:
    """Return the generation of a Pod and the image of its database."""
    labels = pod["metadata"].get("labels") or {}
    containers = (pod.get("spec") or {}).get("containers") or []
    images = {str(one.get("name")): str(one.get("image")) for one in containers}
    return str(labels.get(names.LABEL_INSTANCE) or ""), images.get(names.CONTAINER_MAIN, "")
