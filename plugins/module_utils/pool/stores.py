# SPDX-License-Identifier: Apache-2.0
"""The stores of a pool's Pods in HAKeeper: what is known of them, and what is set."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

from ..api.pod_addresses import reachable
from ..clients.kubernetes.session import Session
from ..clients.matrixone import (
    ClusterDetails,
    CNStoreRecord,
    Deadline,
    HAKeeper,
    LockService,
    MatrixOneError,
    UnknownStore,
)
from ..clients.matrixone.records import WorkState
from ..compute.drain import Locks
from ..compute.load_query import loads_of, locks_of
from ..compute.pods import uuid_of
from ..passes.hakeeper import addresses_of, log_set_of_dependency, members_of_dependency
from .facts import StoreFacts
from .silence import Silence, silence_among
from .writes import HandOver, StoreWrite

Json = dict[str, Any]

_DETAILS_SECONDS: Final = 5.0
_LOCKS_SECONDS: Final = 3.0
_LOGIN_SECONDS: Final = 3.0


@contextmanager
def open_stores(
    session: Session,
    pool: Mapping[str, Any],
    pods: Mapping[str, Mapping[str, Any]],
    deadline: Deadline,
) -> Iterator[Stores]:
    """Ask HAKeeper about the Pods of a pool, and keep the connection for the block.

    Args:
        session: connection to the API server.
        pool: the CNPool.
        pods: its Pods, by name; without any, nothing is asked.
        deadline: for all answers.
    """
    depending = {"metadata": pool["metadata"], "deps": (pool.get("spec") or {}).get("deps")}
    members = members_of_dependency(session, depending) if pods else []
    addresses = addresses_of(depending, members) if pods else []
    stores = Stores(HAKeeper(addresses, addresses) if addresses else None, members, deadline)
    try:
        stores.ask(pods)
        if stores.details is not None:
            log_set = partial(log_set_of_dependency, session, depending)
            found = silence_among(
                pods, stores.details, members, log_set, deadline.within(_LOGIN_SECONDS)
            )
            stores.note_silence(found)
        yield stores
    finally:
        stores.close()


class Stores:
    """What HAKeeper and the compute nodes say, kept up to date by what is set.

    Args:
        hakeeper: of the cluster; None where no log store runs.
        members: Pods of log service and transaction nodes, to find their addresses.
        deadline: when the pass ends.

    Attributes:
        details: what HAKeeper answered; None if it did not.
        facts: what is known, by Pod.
        reached: whether HAKeeper answered.
        problem: the first thing that went wrong; empty if nothing did.
    """

    def __init__(
        self,
        hakeeper: HAKeeper | None,
        members: Sequence[Mapping[str, Any]],
        deadline: Deadline,
    ) -> None:
        self._hakeeper = hakeeper
        self._members = members
        self.details: ClusterDetails | None = None
        self._deadline = deadline
        self._records: dict[str, CNStoreRecord] = {}
        self._uuids: dict[str, str] = {}
        self.facts: dict[str, StoreFacts] = {}
        self.reached = False
        self.problem = "" if hakeeper else "no log store is running"

    def ask(self, pods: Mapping[str, Mapping[str, Any]]) -> None:
        """Ask HAKeeper for all stores once; no answer leaves them unknown."""
        if self._hakeeper is None or not pods:
            # Without Pods there is nothing that an answer could be about.
            self.reached = self._hakeeper is not None
            return
        asked = time.time()
        try:
            within = self._deadline.within(_DETAILS_SECONDS)
            details = self._hakeeper.cluster_details(within)
        except MatrixOneError as error:
            self._fail(error)
            return
        self.reached, self.details = True, details
        records = {record.uuid: record for record in details.cn_stores}
        for name, pod in pods.items():
            uuid = uuid_of(pod)
            self._uuids[name] = uuid
            record = records.get(uuid)
            if record is not None:
                self._records[name] = record
            self.facts[name] = _facts(uuid, record, asked)

    def note_silence(self, found: Silence) -> None:
        """Keep which compute nodes give no sign of life."""
        for name, known in self.facts.items():
            silent, refused = name in found.silent, name in found.refused
            self.facts[name] = replace(known, silent=silent, refused=refused)

    def sample(self, pods: Iterable[str]) -> None:
        """Ask compute nodes what they are busy with; what they do not say stays unknown."""
        names = list(pods)
        asked = time.time()
        loads = loads_of([self._records.get(name) for name in names], self._deadline)
        for name, load in zip(names, loads, strict=True):
            known = self.facts.get(name) or StoreFacts()
            self.facts[name] = replace(known, load=load, sampled_at=asked)

    def hand_over(self, wanted: Iterable[HandOver]) -> None:
        """Ask for the locks of compute nodes that go; what is not answered stays unknown."""
        tn = self.details.serving_tn() if self.details else None
        if tn is None:
            return
        within = self._deadline.within(_LOCKS_SECONDS)
        with LockService(reachable(tn.lock_address, self._members)) as service:
            for one in wanted:
                with suppress(MatrixOneError):
                    self._hand_over(service, one, within)

    def _hand_over(self, service: LockService, wanted: HandOver, within: Deadline) -> None:
        uuid = self._uuids[wanted.pod]
        locks = locks_of(service, uuid, within)
        asks = wanted.begins and locks is Locks.HELD
        if asks:
            service.set_restart(uuid, within)
        self.facts[wanted.pod] = replace(self.facts[wanted.pod], locks=locks, locks_asked=asks)

    def write(self, write: StoreWrite) -> bool:
        """Set work state and labels of a store; tell whether HAKeeper has them now."""
        uuid = self._uuids.get(write.pod)
        if self._hakeeper is None or uuid is None:
            return False
        try:
            self._set(self._hakeeper, uuid, write)
        except UnknownStore:
            self.facts[write.pod] = replace(self.facts[write.pod], known=False)
            return False
        except MatrixOneError as error:
            self._fail(error)
            return False
        known = self.facts[write.pod]
        labels = known.labels if write.labels is None else dict(write.labels)
        self.facts[write.pod] = replace(
            known, state=write.state, labels=labels, seen_at=time.time()
        )
        return True

    def _set(self, hakeeper: HAKeeper, uuid: str, write: StoreWrite) -> None:
        if write.state is WorkState.WORKING and write.labels:
            hakeeper.patch_store(uuid, WorkState.WORKING, write.labels, self._deadline)
            return
        if write.state is WorkState.WORKING:
            # An empty patch keeps the labels that are there: they go before the store works.
            hakeeper.replace_labels(uuid, {}, self._deadline)
        hakeeper.set_work_state(uuid, write.state, self._deadline)
        if write.state is WorkState.DRAINING and write.labels is not None:
            hakeeper.replace_labels(uuid, write.labels, self._deadline)

    def _fail(self, error: MatrixOneError) -> None:
        self.reached = False
        self.problem = self.problem or str(error)

    def close(self) -> None:
        """Close the connection."""
        if self._hakeeper is not None:
            with suppress(OSError):
                self._hakeeper.__exit__()


def _facts(uuid: str, record: CNStoreRecord | None, asked: float) -> StoreFacts:
    if record is None:
        return StoreFacts(known=False, seen_at=asked, service_id=uuid)
    return StoreFacts(
        known=not record.expired,
        state=record.work_state,
        labels=record.labels,
        seen_at=asked,
        service_id=uuid,
        sql_address=record.sql_address,
        query_address=record.query_address,
        lock_address=record.lock_address,
        pipeline_address=record.service_address,
    )
