# SPDX-License-Identifier: Apache-2.0
"""A cluster with an operator: resources come, passes run, and in the end nothing is written.

The operator is what watches.yaml says: for each kind a role, a finalizer, and what is reconciled
again when something changes. Here everything is reconciled in turn until a whole round changes
nothing. Time passes when the collection sleeps, and between two rounds.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime, tzinfo
from functools import cache
from typing import Any, Self
from unittest import mock

import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import timestamps
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients import logins
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (  # noqa: E501
    KubeError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    connection,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.errors import (  # noqa: E501
    Unreachable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import (
    load_query,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.early import kind as early
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    reconciler as log_service_reconciler,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    replaceable_stores,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import executing
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import rolling_update

from faults import ROOT
from faults.simulation.controllers import Controllers
from faults.simulation.log_service import LogService
from faults.simulation.objects import copied
from faults.simulation.roles import Player, TaskFailed
from faults.simulation.server import ApiServer, Key
from faults.simulation.threads import InTurn

Json = dict[str, Any]
_ENVIRONMENT = {"HEALTH_PERIOD": "0", "OPERATOR_IMAGE": "operator:1"}
"""Nothing answers in Pods that are only played; Jobs need an image."""
_THREADED = (executing, load_query, replaceable_stores, logins)
"""Modules of the collection that ask or write in threads."""
ROUNDS = 40
"""Within so many rounds everything is quiet."""
_ROUNDS_OF_SLOW_PODS = 6
"""Further ones for each step that a Pod takes to end: they go one after the other."""
_SECONDS_OF_ROUND = 3.0
_SECONDS_OF_LOOK = 0.0001
_LATER = 700.0
"""Seconds after which whatever waits for time alone has come true: longer than all time-outs."""


class Killed(BaseException):
    """The operator's process has ended, in the middle of what it did."""


class Unsettled(Exception):
    """Writes go on for ever; the message has the last ones."""


class Session:
    """What stands for the collection's connection to the API server.

    Attributes:
        writes: method and path of each request that changed something, or may have.
        survives: after how many writes the operator is killed; None if it is not.
        disturb: called before each request; it may raise what a client meets.
        answered: called after each write; it may raise what a client meets then.
        reads: answers a read in the server's place; None to ask the server.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self.added: Json = {}
        self.discovered: Json = {}
        self.writes: list[str] = []
        self.survives: int | None = None
        self.disturb: Callable[[str, str], None] | None = None
        self.answered: Callable[[], None] | None = None
        self.reads: Callable[[str, Mapping[str, str]], Json | None] | None = None

    def close(self) -> None:
        """Close nothing."""

    def request(
        self,
        method: str,
        path: str,
        *,
        attempt: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """Answer as the API server does; see the collection's ``session.Session``."""
        del attempt
        if self.disturb is not None:
            self.disturb(method, path)
        query = query or {}
        if method == "GET" and self.reads is not None:
            played = self.reads(path, query)
            if played is not None:
                return played
        before = self._server.version
        answer = self._server.answer(method, path, query, copied(body), content_type)
        if method != "GET" and self._server.version != before and "/events" not in path:
            self.writes.append(f"{method} {path}")
            if self.survives is not None and len(self.writes) >= self.survives:
                self.survives = None
                raise Killed
        if method != "GET" and self.answered is not None:
            self.answered()
        return answer


class World:
    """A cluster, its controllers, and the operator.

    Args:
        kinds: what the operator reconciles; everything if None.

    Attributes:
        server: the API server.
        controllers: those of Kubernetes.
        log_service: what HAKeeper knows.
        session: of the operator.
        noted: names that a scenario wants to find again.
        failures: of the last round, by kind and name: why a pass failed.
        skews: seconds that the operator's clock is ahead of the API server's, in one round after
            the other, and again from the first.
    """

    def __init__(self, kinds: Collection[str] | None = None) -> None:
        self.server = ApiServer()
        self._kinds = [kind for kind in watches() if kinds is None or kind in kinds]
        self.controllers = Controllers(self.server)
        self.log_service = LogService(self.server)
        self.session = Session(self.server)
        self.failures: dict[str, str] = {}
        self.noted: list[str] = []
        self.skews: tuple[float, ...] = (0.0,)
        self._rounds = 0

    # What users do

    def apply(self, manifest: Mapping[str, Any]) -> Json:
        """Create a resource, or replace what users wrote of it."""
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace", "")
        key = self.server.key(manifest["apiVersion"], manifest["kind"], namespace, metadata["name"])
        live = self.server.objects.get(key)
        if live is None:
            return self.server.add(manifest)
        kept = {field: live[field] for field in ("metadata", "status") if field in live}
        changed = {**copied(dict(manifest)), **copied(kept)}
        for field in ("labels", "annotations"):
            wanted = {**(live["metadata"].get(field) or {}), **(metadata.get(field) or {})}
            if wanted:
                changed["metadata"][field] = wanted
        return self.server.change(key, changed)

    def delete(self, kind: str, namespace: str, name: str) -> None:
        """Delete a resource as a user does."""
        watch = watches()[kind]
        version = f"{watch['group']}/{watch['version']}"
        key = self.server.key(version, kind, namespace, name)
        if key in self.server.objects:
            self.server.delete(key)

    def get(self, kind: str, name: str, namespace: str = "prod") -> Json | None:
        """Return an object of any kind; None if there is none."""
        for key, found in self.server.of_kind(kind):
            if key[3] == name and key[2] in {namespace, ""}:
                return found
        return None

    # What the operator does

    def round(self, kinds: Iterable[str] = ()) -> None:
        """Reconcile each resource once, and let Kubernetes react.

        Args:
            kinds: only these, in this order; all if there are none.
        """
        self.failures = {}
        self._rounds += 1
        with self._clock(self.skews[self._rounds % len(self.skews)]):
            for kind in kinds or self._kinds:
                for key, _found in list(self.server.of_kind(kind)):
                    if key in self.server.objects:
                        self._reconcile(kind, key, self.server.objects[key])
            self._react()

    def _react(self) -> None:
        self.controllers.step()
        self.log_service.step()

    def pass_rounds(self, number: int) -> None:
        """Run so many rounds, with the time that passes between two."""
        for _ in range(number):
            self.round()
            self.pass_time(_SECONDS_OF_ROUND)

    def settle(self) -> None:
        """Run rounds until one changes nothing, now and after time has passed.

        Raises:
            Unsettled: there is no such round.
        """
        later, rounds = False, ROUNDS + _ROUNDS_OF_SLOW_PODS * self.controllers.steps_to_end
        for _ in range(rounds):
            before = self.server.version
            self.round()
            if self.server.version != before or self.controllers.is_busy:
                later = False
                self.pass_time(_SECONDS_OF_ROUND)
            elif later:
                return
            else:
                later = True
                self.pass_time(_LATER)
        raise Unsettled(f"writes go on after {rounds} rounds: {self.session.writes[-6:]}")

    def pass_time(self, seconds: float) -> None:
        """Let time pass on all clocks, with a heartbeat of all that runs at its end."""
        self.server.present += seconds
        self.log_service.step()

    def _reconcile(self, kind: str, key: Key, live: Json) -> None:
        watch = watches()[kind]
        finalizer = (watch.get("finalizer") or {}).get("name")
        is_deleted = bool(live["metadata"].get("deletionTimestamp"))
        if (
            finalizer
            and not is_deleted
            and finalizer not in (live["metadata"].get("finalizers") or [])
        ):
            try:
                self._finalizers(key, lambda known: [*known, finalizer])
            except KubeError as error:
                self.failures[f"{kind} {key[3]}"] = str(error)
                return
            live = self.server.objects[key]
        if is_deleted and finalizer not in (live["metadata"].get("finalizers") or []):
            return
        if not is_deleted and not _is_selected(watch, live):
            return
        role = watch["role"].removeprefix("matrixorigin.matrixone.")
        variables: Json = {f"{role}_resource": self.server.read(key)}
        variables[f"{role}_resource"]["metadata"].pop("managedFields", None)
        variables["ansible_operator_trigger"] = {}
        if is_deleted:
            variables[f"{role}_state"] = "absent"
        try:
            Player(self.session).play(role, variables)
        except TaskFailed as error:
            self.failures[f"{kind} {key[3]}"] = str(error)
            return
        if is_deleted:
            self._finish(kind, key, str(finalizer))

    def _finish(self, kind: str, key: Key, finalizer: str) -> None:
        try:
            self._finalizers(key, lambda known: [one for one in known if one != finalizer])
        except KubeError as error:
            self.failures[f"{kind} {key[3]}"] = str(error)

    def _finalizers(self, key: Key, change: Callable[[list[str]], list[str]]) -> None:
        live = self.server.objects.get(key)
        if live is None:
            return
        known = change(live["metadata"].get("finalizers") or [])
        body = {"metadata": {"finalizers": known or None}}
        version, plural, namespace, name = key
        root = f"/apis/{version}" + (f"/namespaces/{namespace}" if namespace else "")
        self.session.request(
            "PATCH",
            f"{root}/{plural}/{name}",
            attempt="finalizer",
            body=body,
            content_type="application/merge-patch+json",
        )

    @contextmanager
    def _clock(self, skew: float) -> Iterator[None]:
        """Let what the collection waits for happen while it sleeps."""
        server = self.server

        def present() -> float:
            # A loop that only looks at its deadline must end, too.
            server.present += _SECONDS_OF_LOOK
            return server.present

        def wall() -> float:
            return present() + skew

        def sleep(seconds: float) -> None:
            self.pass_time(max(seconds, 1.0))
            self._react()

        class Clock(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Self:
                return cls.fromtimestamp(server.present + skew, tz)

        patches: tuple[AbstractContextManager[Any], ...] = (
            mock.patch.dict(os.environ, _ENVIRONMENT),
            mock.patch.object(time, "sleep", sleep),
            mock.patch.object(time, "monotonic", present),
            mock.patch.object(time, "time", wall),
            mock.patch.object(timestamps, "datetime", Clock),
            mock.patch.object(rolling_update, "datetime", Clock),
            mock.patch.object(early, "datetime", Clock),
            mock.patch.object(connection, "_connect", _refuse),
            mock.patch.object(log_service_reconciler, "ask", self.log_service.view),
            mock.patch.object(replaceable_stores, "ask", self.log_service.view),
            mock.patch.object(replaceable_stores, "_reachable", bool),
            mock.patch.object(socket, "getaddrinfo", _unknown_host),
            mock.patch.object(socket, "create_connection", _refuse_socket),
            *(mock.patch.object(one, "ThreadPoolExecutor", InTurn) for one in _THREADED),
        )
        with ExitStack() as stack:
            for patch in patches:
                stack.enter_context(patch)
            yield


def _refuse(address: object, *_given: object) -> Any:
    raise Unreachable(f"connecting to {address}: nothing listens there")


def _refuse_socket(address: object, *_given: object, **_more: object) -> Any:
    raise ConnectionRefusedError(f"nothing listens at {address}")


def _unknown_host(*_given: object, **_more: object) -> Any:
    raise socket.gaierror(socket.EAI_NONAME, "this world has no names")


def _is_selected(watch: Mapping[str, Any], live: Json) -> bool:
    labels = live["metadata"].get("labels") or {}
    rules = (watch.get("selector") or {}).get("matchExpressions") or []
    return all(rule["key"] not in labels for rule in rules)


@cache
def watches() -> Mapping[str, Json]:
    """Return the entries of watches.yaml by kind."""
    entries = yaml.safe_load((ROOT / "watches.yaml").read_text())
    return {entry["kind"]: entry for entry in entries}
