# SPDX-License-Identifier: Apache-2.0
"""The client of HAKeeper: finds a store that hosts it, and asks.

Every call has a deadline for all its attempts together. Each may be repeated safely: reads change
nothing, and writes say what is to be, not what is to be added.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from . import reading
from .addresses import Reach
from .answers import part
from .deadlines import Deadline
from .errors import (
    BadRequest,
    MalformedAnswer,
    MatrixOneError,
    NotLeader,
    NotNow,
    TimedOut,
    Unreachable,
)
from .log_store import HAKEEPER_SHARD, LogStore
from .protobuf import Values
from .records import ClusterDetails, ClusterState, WorkState
from .tables.logservice import Method

_DISCOVERY_SECONDS: Final = 2.0
_CHECK_SECONDS: Final = 2.0
_PAUSES: Final = (0.2, 0.5, 1.0)
_LONGEST_PAUSE: Final = 2.0
# Those that say more than others come first: a store's own words before the silence of the rest.
_WORTH_ANOTHER_TRY: Final = (NotNow, MalformedAnswer, NotLeader, TimedOut, Unreachable)


def _more_telling(one: MatrixOneError | None, other: MatrixOneError) -> MatrixOneError:
    """Return the error that says more about what is wrong; of equals the later."""
    if one is None:
        return other
    ranks = [
        next((i for i, kind in enumerate(_WORTH_ANOTHER_TRY) if isinstance(error, kind)), -1)
        for error in (one, other)
    ]
    return one if ranks[0] < ranks[1] else other


def _in_good_order(leader: int, addresses: Mapping[int, str]) -> list[str]:
    """Return the addresses that are known, the leader's first, the others shuffled."""
    others = [address for number, address in addresses.items() if address and number != leader]
    random.shuffle(others)
    return [address for address in (addresses[leader], *others) if address]


class _Stores:
    """Which stores might host HAKeeper, and the one that is being talked to."""

    def __init__(self, discovery: Sequence[str], addresses: Sequence[str], reach: Reach) -> None:
        self._reach = reach
        self._discovery = discovery
        self._addresses = addresses
        self._last_good: list[str] = []
        self._untried: list[str] = []
        self._current: LogStore | None = None

    def current(self, deadline: Deadline) -> LogStore:
        """Return a store that hosts HAKeeper, the same one until it is dropped."""
        if self._current is not None:
            return self._current
        if not self._untried:
            self._untried = self._candidates(deadline)
        problem: MatrixOneError | None = None
        while self._untried:
            try:
                self._current = self._entered(self._untried.pop(0), deadline)
            except MatrixOneError as error:
                problem = _more_telling(problem, error)
                if deadline.remaining() <= 0:
                    break
            else:
                return self._current
        raise problem or NotLeader("HAKeeper: no log store has an address")

    def share(self, deadline: Deadline) -> Deadline:
        """Return until when the current store may take to answer.

        While others are left it is half of the time: a log store that came back after HAKeeper had
        removed its replica still runs that, says that it hosts HAKeeper, and answers nothing.
        """
        return deadline.within(deadline.remaining() / 2) if self._untried else deadline

    def drop(self) -> bool:
        """Leave the current store; return whether others are left before discovering again."""
        if self._current is not None:
            self._current.close()
            self._current = None
        return bool(self._untried)

    def _entered(self, address: str, deadline: Deadline) -> LogStore:
        is_given = address in self._addresses
        store = LogStore(address, Reach.MACHINE if is_given else self._reach)
        try:
            if store.hosts_hakeeper(deadline.within(_CHECK_SECONDS)):
                return store
        except MatrixOneError:
            store.close()
            raise
        store.close()
        raise NotLeader(f"the log store at {address} hosts no HAKeeper")

    def _candidates(self, deadline: Deadline) -> list[str]:
        """Return all addresses to try: discovered, given, and those that were good before."""
        found, problem = self._discovered(deadline)
        if found:
            self._last_good = found
        candidates = list(dict.fromkeys((*found, *self._addresses, *self._last_good)))
        if not candidates:
            raise problem or NotLeader("HAKeeper: discovery named no log store")
        return candidates

    def _discovered(self, deadline: Deadline) -> tuple[list[str], MatrixOneError | None]:
        problem: MatrixOneError | None = None
        for address in self._discovery:
            try:
                with LogStore(address, Reach.MACHINE) as store:
                    within = deadline.within(_DISCOVERY_SECONDS)
                    info = store.shard_info(HAKEEPER_SHARD, within)
            except MatrixOneError as error:
                problem = error
            else:
                return _in_good_order(info.leader, info.addresses), None
        return [], problem


def _pauses() -> Iterator[float]:
    return itertools.chain(_PAUSES, itertools.repeat(_LONGEST_PAUSE))


def _require_uuid(uuid: str) -> None:
    if not uuid:
        raise BadRequest("a store needs a UUID")


def _encoded_labels(labels: Mapping[str, Iterable[str]]) -> Values:
    for key, values in labels.items():
        if not key or isinstance(values, str):
            raise BadRequest(f"label {key!r} needs a name and a list of values")
    return {key: {"Labels": list(values)} for key, values in labels.items()}


class HAKeeper:
    """The HAKeeper of one cluster; a context manager that closes the connection.

    Args:
        discovery: addresses that lead to any log store, e.g. of the discovery Service.
        addresses: addresses of single log stores, tried when discovery does not help.
        reach: what is dialled of the addresses that log stores name; those above always are.
    """

    def __init__(
        self,
        discovery: Sequence[str] = (),
        addresses: Sequence[str] = (),
        reach: Reach = Reach.NETWORK,
    ) -> None:
        if not discovery and not addresses:
            raise BadRequest("HAKeeper: neither a discovery address nor a log store is given")
        self._stores = _Stores(discovery, addresses, reach)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stores.drop()

    def cluster_details(self, deadline: Deadline) -> ClusterDetails:
        """Return all stores.

        Raises:
            MatrixOneError: HAKeeper cannot be reached, or has no quorum.
        """
        answer = self._ask(Method.GET_CLUSTER_DETAILS, {}, deadline)
        details = part("log service GET_CLUSTER_DETAILS", answer, "ClusterDetails")
        return reading.cluster_details(details)

    def cluster_state(self, deadline: Deadline) -> ClusterState:
        """Return HAKeeper's own state: its clock, the wanted and the present log shards."""
        return reading.cluster_state(self._checker_state(deadline))

    def set_work_state(self, uuid: str, state: WorkState, deadline: Deadline) -> None:
        """Set the work state of a compute node; its labels stay.

        Raises:
            UnknownStore: it is not registered.
            MatrixOneError: it is not known whether it was set.
        """
        self._patch(uuid, state, {}, deadline)

    def patch_store(
        self, uuid: str, state: WorkState, labels: Mapping[str, Iterable[str]], deadline: Deadline
    ) -> None:
        """Set the work state and all labels of a compute node; no labels clears them.

        Raises:
            UnknownStore: it is not registered.
        """
        self._patch(uuid, state, labels, deadline)
        if not labels:
            self.replace_labels(uuid, {}, deadline)

    def replace_labels(
        self, uuid: str, labels: Mapping[str, Iterable[str]], deadline: Deadline
    ) -> None:
        """Replace all labels of a compute node; none clears them.

        Raises:
            UnknownStore: it is not registered.
        """
        _require_uuid(uuid)
        values = {"UUID": uuid, "Labels": _encoded_labels(labels)}
        self._ask(Method.UPDATE_CN_LABEL, {"CNStoreLabel": values}, deadline)

    def delete_store(self, uuid: str, deadline: Deadline) -> None:
        """Forget a compute node; one that still runs registers again, without labels."""
        _require_uuid(uuid)
        self._ask(Method.DELETE_CN_STORE, {"DeleteCNStore": {"StoreID": uuid}}, deadline)

    def _patch(
        self, uuid: str, state: WorkState, labels: Mapping[str, Iterable[str]], deadline: Deadline
    ) -> None:
        _require_uuid(uuid)
        if state not in list(WorkState) or state is WorkState.UNKNOWN:
            raise BadRequest(f"{state!r} is no work state")
        values = {"UUID": uuid, "State": state.number, "Labels": _encoded_labels(labels)}
        self._ask(Method.PATCH_CN_STORE, {"CNStateLabel": values}, deadline)

    def _checker_state(self, deadline: Deadline) -> Values:
        answer = self._ask(Method.GET_CLUSTER_STATE, {}, deadline)
        return dict(part("log service GET_CLUSTER_STATE", answer, "CheckerState"))

    def _ask(self, method: Method, values: Mapping[str, Any], deadline: Deadline) -> Values:
        """Ask one store after the other, with growing pauses between the rounds."""
        pauses = _pauses()
        problem: MatrixOneError | None = None
        while True:
            try:
                store = self._stores.current(deadline)
                return store.ask(method, values, self._stores.share(deadline))
            except _WORTH_ANOTHER_TRY as error:
                problem = _more_telling(problem, error)
                pause = error.pause if isinstance(error, NotNow) else 0.0
                if not self._stores.drop():
                    pause = max(pause, next(pauses))
                if not deadline.pause(pause):
                    raise problem from error
