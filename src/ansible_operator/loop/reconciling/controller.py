# SPDX-License-Identifier: Apache-2.0
"""One reconcile of one object, step by step."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ansible_operator import metrics
from ansible_operator.errors import EngineError, OperatorError
from ansible_operator.kube.documents import IncompleteObject
from ansible_operator.kube.interface import Object
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, Trigger
from ansible_operator.loop.queueing.workers import ReconcileResult
from ansible_operator.loop.reconciling.conditions import FAILURE, Transitions, current
from ansible_operator.loop.reconciling.objects import ObjectStore
from ansible_operator.loop.reconciling.orphaning import OrphaningDeletions
from ansible_operator.loop.reconciling.play_result import PlayResult
from ansible_operator.loop.reconciling.reporting import StatusReport, has_succeeded
from ansible_operator.loop.reconciling.runs import Runs
from ansible_operator.loop.settings import PERIOD_ANNOTATION, Controlled
from ansible_operator.watches import InvalidDuration, format_duration, parse_duration

INTERRUPTED = (
    "The operator was stopped before the run had ended; it is run again by the next operator"
)
INTERRUPTED_STATUS_SECONDS = 5.0
"""Longest time to write the status of an interrupted run while the process stops."""
DELETED_MEANWHILE_SECONDS = 5.0

_LOG = get_logger("ansible-controller")


class ReconcileError(OperatorError):
    """A reconcile has failed in a way that its status or a log line already reports."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """Reconciles the objects of one watch.

    Attributes:
        release_slot: called when the play of an object has ended and its result is to be written.
        orphaning: knows which objects are deleted without their dependents.
    """

    controlled: Controlled
    objects: ObjectStore
    runs: Runs
    recorder: EventRecorder
    transitions: Transitions
    release_slot: Callable[[Key], None]
    orphaning: OrphaningDeletions = field(default_factory=OrphaningDeletions)

    async def reconcile(self, key: Key, trigger: Trigger) -> ReconcileResult:
        """Bring one object up to date.

        Raises:
            OperatorError: it has to be tried again after a delay.
        """
        if not self.controlled.can_have(key.namespace, key.name):
            # The kind had another scope when this was queued. The next start removes the files of
            # its runs: their folder may be another object's parent now.
            return ReconcileResult(deleted=True)
        new = self._new(key)
        obj = new or await self.objects.read(key.namespace, key.name)
        if obj is None:
            await self.runs.forget(key.namespace, key.name)
            return ReconcileResult(deleted=True)
        if not self._is_ours(obj):
            return ReconcileResult()
        if isinstance(obj, IncompleteObject):
            return await self._refuse(obj)
        try:
            return await self._bring_up_to_date(key, obj, trigger, is_new=new is not None)
        except OperatorError:
            raise
        except Exception as error:
            await self._mark_crash(obj, error)
            raise

    async def _bring_up_to_date(
        self, key: Key, obj: Object, trigger: Trigger, *, is_new: bool
    ) -> ReconcileResult:
        period = await self._period(obj)
        admitted = await self._with_finalizer(obj)
        if admitted is None:
            return ReconcileResult()
        is_up_to_date = await self._is_up_to_date(admitted, trigger)
        if is_up_to_date:
            return ReconcileResult(requeue_after=period, is_played=False)
        trigger = replace(trigger, prechecked=is_up_to_date is False)
        quiet = not trigger.fresh and not is_deleting(admitted) and has_succeeded(admitted)
        report = self._report(quiet=quiet, first=is_new)
        return await self._run(key, admitted, trigger, period, report)

    async def _refuse(self, obj: IncompleteObject) -> ReconcileResult:
        """Report an object of which a play would see only a part; its next change is awaited."""
        _LOG.error("The object is not run", error=obj.problem, **self._names(obj))
        try:
            await self._mark_error(obj, obj.problem)
        except OperatorError as error:
            _LOG.error("The status was not written", error=str(error), **self._names(obj))
        return ReconcileResult()

    async def _mark_crash(self, obj: Object, error: Exception) -> None:
        """Report a failure that nobody has foreseen, as far as that is possible."""
        message = f"The operator failed on this object ({type(error).__name__}), see its log"
        try:
            await self._mark_error(obj, message)
        except Exception as again:  # noqa: BLE001  # the first error is the one that matters
            text = str(again) or type(again).__name__
            _LOG.error("The status was not written", error=text, **self._names(obj))

    def _new(self, key: Key) -> Object | None:
        """An object that was never run, from the cache.

        It need not be read: if it has changed meanwhile, that change requests a run of its own, and
        conditions are written to just this version of it, or else it is read then.
        """
        cached = self.objects.cached(key.namespace, key.name)
        if cached is None or not self.controlled.watch.manage_status:
            return None
        return None if current(cached.get("status")) else cached

    def _report(self, *, quiet: bool = False, first: bool = False) -> StatusReport:
        watch = self.controlled.watch
        return StatusReport(
            self.objects,
            self.transitions,
            managed=watch.manage_status,
            quiet=quiet,
            first=first,
            last_run=watch.report_last_run,
        )

    def _is_ours(self, obj: Object) -> bool:
        """Whether the watch still selects it, or a deletion waits for our finalizer."""
        if self.controlled.watch.selects(obj["metadata"]):
            return True
        return is_deleting(obj) and self._owns(obj)

    def _owns(self, obj: Object) -> bool:
        finalizer = self.controlled.watch.finalizer
        return finalizer is not None and finalizer.name in (obj["metadata"].get("finalizers") or ())

    async def _period(self, obj: Object) -> float:
        annotation = (obj["metadata"].get("annotations") or {}).get(PERIOD_ANNOTATION)
        if annotation is None:
            return self.controlled.period
        try:
            return parse_duration(annotation)
        except InvalidDuration as error:
            message = f"Unable to parse reconcile period annotation: {error}"
            await self._mark_error(obj, message)
            raise ReconcileError(message) from error

    async def _with_finalizer(self, obj: Object) -> Object | None:
        """The object to run, with our finalizer on it; None when nothing is to be run."""
        finalizer = self.controlled.watch.finalizer
        now: Object | None = obj
        if finalizer is not None and not (is_deleting(obj) or self._owns(obj)):
            now = await self.objects.add_finalizer(obj, finalizer.name)
        if now is None or not is_deleting(now) or self._owns(now):
            return now
        _LOG.info("Resource is terminated, skipping reconciliation", **self._names(obj))
        return None

    async def _is_up_to_date(self, obj: Object, trigger: Trigger) -> bool | None:
        """Whether a check finds that a run would change nothing, which then counts as a success.

        None if the check was not asked, or has not answered.
        A change of the object requests a run and gets it; so does an object whose run has failed,
        one whose probe asks for a run, and one whose conditions have to be written.
        """
        watch = self.controlled.watch
        asked_for = trigger.requested or trigger.failed or trigger.probed
        must_run = asked_for or is_deleting(obj) or has_failed(obj)
        if not watch.precheck or must_run or (watch.manage_status and not has_succeeded(obj)):
            return None
        started = time.monotonic()
        is_up_to_date = await self.runs.is_up_to_date(obj, trigger)
        if is_up_to_date:
            self._count(failed=False)
            metrics.RECONCILES.labels(str(self.controlled.gvk)).observe(time.monotonic() - started)
        return is_up_to_date

    async def _run(
        self, key: Key, obj: Object, trigger: Trigger, period: float, report: StatusReport
    ) -> ReconcileResult:
        began = await report.begin(obj)
        if began is None:
            return ReconcileResult(deleted=True)
        # Decided once, for what is played and for what follows it: the deletion may come at any
        # step, and a finalizer may be removed only after the play that is to precede it.
        finalizing = is_deleting(began) and self._owns(began)
        try:
            outcome = await self._play(began, trigger, report, finalizing=finalizing)
        except asyncio.CancelledError:
            await self._mark_interrupted(began, report)
            raise
        finally:
            await report.close()
        self.release_slot(key)
        return await self._conclude(began, outcome, period, report, finalizing=finalizing)

    async def _play(
        self, obj: Object, trigger: Trigger, report: StatusReport, *, finalizing: bool
    ) -> PlayResult:
        gvk = str(self.controlled.gvk)
        moment, started = self.transitions.clock(), time.monotonic()
        given = self.orphaning.as_requested(obj) if finalizing else obj
        try:
            outcome = await self.runs.play(given, trigger, report.look, finalizing=finalizing)
        except (EngineError, OSError) as error:
            await self._mark_error(obj, "Unable to run reconciliation", report)
            raise ReconcileError(f"Unable to run reconciliation: {error}") from error
        finally:
            metrics.RECONCILES.labels(gvk).observe(time.monotonic() - started)
        outcome.started, outcome.seconds = moment, time.monotonic() - started
        return outcome

    async def _mark_interrupted(self, obj: Object, report: StatusReport) -> None:
        """Leave no condition behind that reports a run under way."""
        try:
            async with asyncio.timeout(INTERRUPTED_STATUS_SECONDS):
                await report.error(obj, INTERRUPTED)
        except (OperatorError, TimeoutError) as error:
            _LOG.error("Status of an interrupted run was not written", error=str(error))

    async def _conclude(
        self,
        obj: Object,
        outcome: PlayResult,
        period: float,
        report: StatusReport,
        *,
        finalizing: bool,
    ) -> ReconcileResult:
        """Write the result of a run; when the next one is due."""
        failed = bool(outcome.failures)
        self._count(failed=failed)
        self._record(obj, outcome)
        now: Object | None = obj
        if finalizing and not failed:
            now = await self._release(obj)
        now = await report.end(now, outcome) if now is not None else None
        if failed:
            managed = self.controlled.watch.manage_status
            raise ReconcileError(
                "event runner on failed" if managed else "received failed task event"
            )
        if now is None:
            return ReconcileResult(deleted=True)
        if is_deleting(now) and self._owns(now):
            return ReconcileResult(requeue_after=DELETED_MEANWHILE_SECONDS)
        if outcome.requeue_after is not None:
            after = format_duration(outcome.requeue_after)
            _LOG.info(f"Set the reconciliation to occur after {after}", **self._names(obj))
            return ReconcileResult(requeue_after=outcome.requeue_after, requested=True)
        return ReconcileResult(requeue_after=period)

    async def _release(self, obj: Object) -> Object | None:
        """Remove our finalizer; the object that is left, None when it is deleted."""
        finalizer = self.controlled.watch.finalizer
        if finalizer is None:
            return obj
        left = await self.objects.remove_finalizer(obj, finalizer.name)
        if left is not None and left["metadata"].get("finalizers"):
            return left
        await self.runs.forget(obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        return None

    def _count(self, *, failed: bool) -> None:
        result = "failed" if failed else "succeeded"
        metrics.RECONCILE_RESULT.labels(str(self.controlled.gvk), result).inc()

    def _record(self, obj: Object, outcome: PlayResult) -> None:
        """Record an Event for a failure, or for the end of one."""
        if outcome.failures:
            message = "\n".join(outcome.failures)
            self.recorder.record(obj, "Warning", "ReconcileFailed", message)
        elif has_failed(obj):
            self.recorder.record(obj, "Normal", "ReconcileRecovered", "The run succeeded again")

    async def _mark_error(
        self, obj: Object, message: str, report: StatusReport | None = None
    ) -> None:
        self._count(failed=True)
        self.recorder.record(obj, "Warning", "ReconcileFailed", message)
        await (report or self._report()).error(obj, message)

    def _names(self, obj: Object) -> dict[str, str]:
        metadata = obj["metadata"]
        return {
            "gvk": str(self.controlled.gvk),
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
        }


def is_deleting(obj: Object) -> bool:
    """Whether deletion of the object was requested."""
    return bool(obj["metadata"].get("deletionTimestamp"))


def has_failed(obj: Object) -> bool:
    """Whether the last run failed, by the conditions."""
    failures = (item for item in current(obj.get("status")) if item["type"] == FAILURE)
    return any(item["status"] == "True" for item in failures)
