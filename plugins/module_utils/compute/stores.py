# SPDX-License-Identifier: Apache-2.0
"""The stores of a CNSet: which Pod is which store in HAKeeper.

What is not known is None here and never counts as zero or healthy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..clients.matrixone.records import CNStoreRecord, Labels
from ..reporting.health import HEARD_SECONDS


@dataclass(frozen=True, slots=True)
class CNStore:
    """A Pod of a CNSet and its store.

    Attributes:
        pod: name of the Pod.
        uuid: store id.
        ready: whether the Pod is ready.
        is_terminating: whether the Pod is being deleted.
        cordoned: whether an annotation keeps new sessions away.
        created: when the Pod was created, RFC 3339.
        process: when its main container started, RFC 3339; empty while it does not run.
        draining_since: second in which the drain began (Unix time); None if it did not.
        asked_process: the `process` whose locks were asked for; empty if none were.
        desired_labels: labels that it should have.
        record: what HAKeeper knows of it; None where it is not registered.
        asked: whether HAKeeper could be asked; if not, it is unknown whether it is registered.
        cost: its present ``pod-deletion-cost``; None without one.
        marked: work state that this operator recorded on the Pod last; empty if it never did.
        template: hash of the template that the Pod was made from; empty if it is unknown.
        gated: whether the Pod is not ready before this operator says that its store is known.
        unheard_process: the `process` of which HAKeeper had not heard for too long, or that did not
            answer; empty if there was none.
        unresponsive: whether it does not answer, although HAKeeper hears it, and will not by
            itself.
        unanswered_process: the `process` that answered no login; empty if all did.
        resumes: whether it serves on by itself after it was silent, see `resume_query`.
        stray: whether a CloneSet of OpenKruise left the Pod behind: no workload has it.
        unheard: seconds since the last heartbeat of its present process.
        peers_heard: whether the transaction node was heard meanwhile; it may take it for dead.
    """

    pod: str
    uuid: str
    ready: bool
    is_terminating: bool
    cordoned: bool
    created: str
    process: str
    draining_since: float | None
    asked_process: str
    desired_labels: Labels
    record: CNStoreRecord | None
    asked: bool = True
    cost: int | None = None
    marked: str = ""
    template: str = ""
    gated: bool = False
    unheard_process: str = ""
    unresponsive: bool = False
    unanswered_process: str = ""
    resumes: bool = False
    stray: bool = False
    unheard: float = 0.0
    peers_heard: bool = True

    @property
    def silent(self) -> bool:
        """Whether HAKeeper has not heard of it for too long; unknown is not."""
        return self.record is not None and self.unheard > HEARD_SECONDS

    @property
    def isolated(self) -> bool:
        """Whether it is silent, and the transaction node may take it for dead."""
        return self.silent and self.peers_heard

    @property
    def refused(self) -> bool:
        """Whether this process has to be replaced: commits may be refused, or it does not answer.

        A lock service that did not answer counts as inactive for a day, although its process goes
        on, and the commits of its transactions fail: "cannot commit a orphan transaction"
        (cleanCommitState in MatrixOne's pkg/lockservice/lock_table_allocator.go). Newer versions
        resume by themselves.
        """
        return bool(self.process) and self.unheard_process == self.process and not self.resumes

    @property
    def may_resume(self) -> bool:
        """Whether only its commits may be refused, and it can be asked whether it resumes."""
        unanswered = self.unresponsive or self.unanswered_process == self.process
        heard = self.record is not None and not self.silent
        return self.refused and heard and not unanswered and not self.is_terminating

    @property
    def locks_asked(self) -> bool:
        """Whether this process has been asked to hand its locks over: there is no way back."""
        return bool(self.process) and self.asked_process == self.process


def store_uuid(address: str) -> str:
    """Return the UUID that a start script derives from a Pod's DNS name.

    Args:
        address: e.g. ``mo-tp-cn-abcde.mo-tp-cn-headless.prod.svc``.
    """
    text = hashlib.sha256(f"{address}\n".encode()).hexdigest()[:16]
    pairs = [f"{ord(text[i + 1]):02x}{ord(text[i]):02x}" for i in range(0, 16, 2)]
    return f"{pairs[0]}{pairs[1]}-{pairs[2]}-{pairs[3]}-{pairs[4]}-{''.join(pairs[5:])}"


def node_entries(
    pods: Iterable[Mapping[str, Any]], states: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return the entries of ``status.stores``, by Pod name.

    Args:
        pods: the Pods of the set.
        states: work states in HAKeeper by Pod, as far as they were heard.
    """
    return [
        _entry(pod, states)
        for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"]))
        if not pod["metadata"].get("deletionTimestamp")
    ]


def _entry(pod: Mapping[str, Any], states: Mapping[str, str]) -> dict[str, str]:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    address = f"{metadata['name']}.{spec.get('subdomain') or ''}.{metadata['namespace']}.svc"
    return {
        "podName": metadata["name"],
        "uuid": store_uuid(address),
        "state": states.get(metadata["name"]) or "Unknown",
    }
