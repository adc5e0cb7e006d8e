# SPDX-License-Identifier: Apache-2.0
"""Leader election with a Lease: of several processes one may reconcile.

A lease is free when it is new, released, or unchanged for as long as its holder promised to
renew it, measured by this process's own clock: clocks of other machines are never compared.
"""

import asyncio
import datetime
import random
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ansible_operator import metrics
from ansible_operator.errors import ConfigError, KubeError, LeadershipLostError
from ansible_operator.kube.access import SERVICE_ACCOUNT
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.interface import Object
from ansible_operator.kube.names import api_path
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.logs import get_logger

RELEASE_TIMEOUT = 2.0
"""Seconds that giving the lease back may take at the end of the process."""

_LOG = get_logger("leader-election")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """Which lease, and how long its holder may be silent.

    Attributes:
        name: ``--leader-election-id``.
        namespace: where the Lease is; see :func:`election_namespace`.
        duration: seconds after which others may take a lease that is not renewed.
        renew_deadline: seconds after which a holder that cannot renew gives up; the rest of
            ``duration`` is the margin for ending its work.
        retry_period: seconds between two attempts, of holder and waiting processes alike.
        identity: name of this process in the Lease.
        labels: of a Lease that is created.
        ends_with_lease: whether a Lease that somebody deletes is lost, instead of created again.
        shown_as: name in metrics; ``""`` for that of the Lease.
    """

    name: str
    namespace: str
    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    identity: str = field(default_factory=lambda: f"{socket.gethostname()}_{uuid.uuid4()}")
    labels: Mapping[str, str] = field(default_factory=dict)
    ends_with_lease: bool = False
    shown_as: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            ConfigError: no name, or times that contradict each other.
        """
        if not self.name:
            raise ConfigError("LeaderElectionID must be configured")
        if not self.duration > self.renew_deadline > self.retry_period > 0:
            raise ConfigError(
                f"leader election needs lease duration ({self.duration:g} s) > renew deadline "
                f"({self.renew_deadline:g} s) > retry period ({self.retry_period:g} s)"
            )


def election_namespace(flag: str, folder: Path = SERVICE_ACCOUNT) -> str:
    """The namespace of the Lease: the flag's, else the one of the pod this runs in.

    Raises:
        ConfigError: neither is known.
    """
    namespace = flag or pod_namespace(folder)
    if not namespace:
        raise ConfigError(
            "unable to find leader election namespace: not running in-cluster, please specify "
            "--leader-election-namespace"
        )
    return namespace


def pod_namespace(folder: Path = SERVICE_ACCOUNT) -> str:
    """The namespace of the pod that this runs in; ``""`` outside of a cluster."""
    try:
        return (folder / "namespace").read_text().strip()
    except OSError:
        return ""


class LeaderElection:
    """One process's part in the election.

    Call :meth:`acquire`, then run :meth:`hold` beside the work, then :meth:`release`.

    Args:
        client: session to the API server.
        settings: which lease and how long.
        recorder: writes the ``LeaderElection`` Event; None for no Events.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        client: HttpClient,
        settings: LeaseSettings,
        recorder: EventRecorder | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._client = client
        self._recorder = recorder
        self._clock = clock
        self._lease: Object | None = None
        self._observed: dict[str, Any] = {}
        self._observed_at = clock()
        self._renewed = self._sent = clock()
        self._status = metrics.LEADER.labels(settings.shown_as or settings.name)
        self._status.set(0)

    @property
    def is_leader(self) -> bool:
        """Whether this process held the lease at the last check."""
        return self._observed.get("holderIdentity") == self.settings.identity

    async def acquire(self) -> None:
        """Wait until this process holds the lease."""
        where = f"{self.settings.namespace}/{self.settings.name}"
        _LOG.info(f"attempting to acquire leader lease {where}...")
        while True:
            if await self._attempt(self.settings.renew_deadline):
                break
            # With some jitter, so that processes that started together do not collide forever.
            jitter = random.uniform(0.8, 1.0)  # noqa: S311
            await asyncio.sleep(self.settings.retry_period * jitter)
        _LOG.info(f"successfully acquired lease {where}")
        self._status.set(1)
        self._tell("became leader")

    @property
    def _longest_attempt(self) -> float:
        """Seconds after which a renewal is tried again: one dead connection is not the end.

        Half of the deadline: a slow API server gets as long as the Go runner gives it.
        """
        return max(self.settings.retry_period, self.settings.renew_deadline / 2)

    async def hold(self) -> None:
        """Renew until cancelled.

        Raises:
            LeadershipLostError: another process took the lease, or it could not be renewed in
                time. The process has to end: another may be reconciling already.
        """
        began = self._clock()
        while True:
            await asyncio.sleep(max(0.0, began + self.settings.retry_period - self._clock()))
            began = self._clock()
            left = self._renewed + self.settings.renew_deadline - self._clock()
            if left > 0 and await self._attempt(min(left, self._longest_attempt)):
                continue
            is_taken = not self.is_leader
            if is_taken or self._clock() - self._renewed >= self.settings.renew_deadline:
                self._status.set(0)
                self._tell("stopped leading")
                raise LeadershipLostError("leader election lost")

    def leave(self) -> None:
        """Do nothing: a leader gives its Lease back when it has ended all runs."""

    async def remove(self) -> None:
        """Delete the Lease, if this process holds it."""
        self._status.set(0)
        if not self.is_leader or self._lease is None:
            return
        self._observed = {}
        uid = self._lease["metadata"].get("uid")
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                await self._client.request("DELETE", self._path(), body=body)
        except (KubeError, TimeoutError) as error:
            _LOG.info("The lease could not be deleted", err=str(error) or "no answer")

    async def release(self) -> None:
        """Release the lease, so that a waiting process takes over at its next attempt."""
        self._status.set(0)
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                while self.is_leader and not await self._give_back():
                    # A renewal that was cut off may still have reached the server.
                    self._observe(await self._client.request_object("GET", self._path()))
        except (KubeError, TimeoutError) as error:
            _LOG.info("The lease could not be released", err=str(error) or "no answer")
        finally:
            self._observed = {}

    async def _give_back(self) -> bool:
        """Write the lease without a holder; False when it has changed meanwhile."""
        if self._lease is None:
            return True
        now = now_text()
        spec = {
            **_spec(self._lease),
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "acquireTime": now,
            "renewTime": now,
        }
        try:
            await self._write({**self._lease, "spec": spec}, RELEASE_TIMEOUT)
        except KubeError as error:
            if error.is_conflict:
                return False
            raise
        return True

    async def _attempt(self, timeout: float) -> bool:
        """Take or renew the lease, if that is possible now."""
        try:
            async with asyncio.timeout(timeout):
                done = (self.is_leader and await self._renew(timeout)) or await self._take(timeout)
        except (KubeError, TimeoutError) as error:
            if isinstance(error, KubeError) and error.is_conflict:
                return False
            _LOG.error("error retrieving or updating the lease", err=str(error) or "no answer")
            return False
        if done:
            # Others count from what the server has stored: not from its answer.
            self._renewed = self._sent
        return done

    async def _renew(self, timeout: float) -> bool:
        """Write without reading first; False when the lease has changed meanwhile."""
        if self._lease is None:
            return False
        try:
            await self._write(self._mine(self._lease), timeout)
        except KubeError as error:
            if error.is_conflict or error.is_not_found:
                return False
            raise
        return True

    async def _take(self, timeout: float) -> bool:
        try:
            lease = await self._client.request_object("GET", self._path(), timeout=timeout)
        except KubeError as error:
            if not error.is_not_found:
                raise
            if self._lease is not None and self.settings.ends_with_lease:
                self._observed = {}
                return False
            await self._create(timeout)
            return True
        self._observe(lease)
        if not (self.is_leader or self._is_free()):
            return False
        await self._write(self._mine(lease), timeout)
        return True

    def _observe(self, lease: Object) -> None:
        spec = _spec(lease)
        self._lease = lease
        if spec != self._observed:
            self._observed = spec
            self._observed_at = self._clock()

    def _is_free(self) -> bool:
        if not self._observed.get("holderIdentity"):
            return True
        promised = self._observed.get("leaseDurationSeconds") or self.settings.duration
        return self._clock() >= self._observed_at + promised

    def _mine(self, lease: Object) -> Object:
        """The desired lease, with this process as its holder."""
        spec, now = _spec(lease), now_text()
        is_new = spec.get("holderIdentity") != self.settings.identity
        transitions = int(spec.get("leaseTransitions") or 0) + int(is_new)
        return {
            **lease,
            "spec": {
                **spec,
                "holderIdentity": self.settings.identity,
                "leaseDurationSeconds": max(1, round(self.settings.duration)),
                "acquireTime": now if is_new else spec.get("acquireTime", now),
                "renewTime": now,
                "leaseTransitions": transitions,
            },
        }

    async def _create(self, timeout: float) -> None:
        body = self._mine(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": self._metadata(),
            }
        )
        body["spec"]["leaseTransitions"] = 0
        path = self._path().rpartition("/")[0]
        self._sent = self._clock()
        created = await self._client.request_object("POST", path, body=body, timeout=timeout)
        self._observe(created)

    def _metadata(self) -> dict[str, Any]:
        settings = self.settings
        metadata: dict[str, Any] = {"name": settings.name, "namespace": settings.namespace}
        return {**metadata, "labels": dict(settings.labels)} if settings.labels else metadata

    async def _write(self, lease: Object, timeout: float) -> None:
        self._sent = self._clock()
        path = self._path()
        written = await self._client.request_object("PUT", path, body=lease, timeout=timeout)
        self._observe(written)

    def _path(self) -> str:
        settings = self.settings
        root = ("apis", "coordination.k8s.io", "v1", "namespaces", settings.namespace)
        return api_path(*root, "leases", settings.name)

    def _tell(self, what: str) -> None:
        if self._recorder is not None and self._lease is not None:
            typed = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **self._lease}
            self._recorder.record(
                typed, "Normal", "LeaderElection", f"{self.settings.identity} {what}"
            )


class _LeaseSpec(msgspec.Struct):
    """The fields of a Lease that are read here, with their types."""

    holderIdentity: str | None = None  # noqa: N815
    leaseDurationSeconds: int | None = None  # noqa: N815
    leaseTransitions: int | None = None  # noqa: N815


def _spec(lease: Object) -> dict[str, Any]:
    """The spec of a Lease.

    Raises:
        KubeError: that is no Lease.
    """
    spec: dict[str, Any] = lease.get("spec") or {}
    try:
        msgspec.convert(spec, _LeaseSpec)
    except msgspec.ValidationError as error:
        raise KubeError(f"the answer is no Lease: {error}") from error
    return spec


def now_text() -> str:
    """The current time as a Kubernetes MicroTime."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
