# SPDX-License-Identifier: Apache-2.0
"""One run of one object: from its variables to its outcome."""

import functools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.engine.disk_threads import in_disk_thread
from ansible_operator.engine.extra_vars import ExtraVars
from ansible_operator.engine.interface import (
    CheckRequest,
    Engine,
    JobEvent,
    PlaybookTarget,
    RoleTarget,
    RunRequest,
    RunResult,
)
from ansible_operator.engine.rundir import remove
from ansible_operator.errors import EngineError
from ansible_operator.kube.interface import Object
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Trigger
from ansible_operator.loop.reconciling.artifact_limit import ArtifactLimit
from ansible_operator.loop.reconciling.event_log import EventLog
from ansible_operator.loop.reconciling.play_result import PlayResult
from ansible_operator.loop.reconciling.variables import extra_vars, whole_object
from ansible_operator.loop.settings import (
    ARTIFACTS_ANNOTATION,
    MOST_ANNOTATED_ARTIFACTS,
    VERBOSITY_ANNOTATION,
    BeforeRead,
    Controlled,
    KubeconfigFor,
    RunSettings,
    bounded_annotation,
)
from ansible_operator.watches import PlayPath

CHECK_SECONDS = 10.0
"""Longest time that a check may take; it is to take milliseconds."""

_LOG = get_logger("runner")


@functools.cache
def _target(play: PlayPath, *, gather_facts: bool) -> PlaybookTarget | RoleTarget:
    if play.playbook:
        return PlaybookTarget(Path(play.playbook))
    return RoleTarget(play.role_name, Path(play.role), gather_facts=gather_facts)


@dataclass(frozen=True, slots=True)
class Runs:
    """Starts runs of one controller."""

    controlled: Controlled
    settings: RunSettings
    engine: Engine
    kubeconfig_for: KubeconfigFor
    artifacts: ArtifactLimit

    async def play(
        self, obj: Object, trigger: Trigger, look: BeforeRead, *, finalizing: bool
    ) -> PlayResult:
        """Play an object's role or playbook to the end.

        Raises:
            EngineError: the run could not be started.
        """
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        job = str(random.getrandbits(63))
        annotations = metadata.get("annotations") or {}
        verbosity = self._annotated_verbosity(annotations)
        log = EventLog(
            level=self.settings.log_level,
            name=name,
            namespace=namespace,
            gvk=str(self.controlled.gvk),
            job=job,
            raw=verbosity > 0 if verbosity is not None else self.settings.raw_output,
        )
        outcome = PlayResult()

        def on_event(event: JobEvent) -> None:
            outcome.take(event)
            log.take(event)

        with self.kubeconfig_for(self.controlled, obj, look) as kubeconfig:
            variables = extra_vars(self.controlled.watch, obj, trigger, finalizing=finalizing)
            request = self._request(obj, job, kubeconfig, variables, finalizing=finalizing)
            result = await self.engine.run(request, on_event)
        self.artifacts.count_run()
        outcome.finish(result)
        self._report(log, outcome, result, trigger)
        return outcome

    async def is_up_to_date(self, obj: Object, trigger: Trigger) -> bool | None:
        """Whether a run would change nothing, by the watch's check; None without an answer."""
        up_to_date = await self._ask(self.controlled.watch.precheck, obj)
        if up_to_date:
            _LOG.info("Nothing to do", reason=trigger.reason, **self._names(obj))
        return up_to_date

    async def is_as_reported(self, obj: Object) -> bool:
        """Whether the watch's probe finds an object as it was left; false when in doubt."""
        return bool(await self._ask(self.controlled.watch.probe.test, obj))

    async def _ask(self, function: str, obj: Object) -> bool | None:
        watch = self.controlled.watch
        seconds = min(CHECK_SECONDS, watch.run_timeout or CHECK_SECONDS)
        try:
            with self.kubeconfig_for(self.controlled, obj, None) as kubeconfig:
                check = CheckRequest(function, whole_object(watch, obj), kubeconfig, seconds)
                return await self.engine.is_up_to_date(check)
        except (EngineError, OSError) as error:
            names = self._names(obj)
            _LOG.error("Check failed, so the object is run", error=str(error), **names)
            return None

    def _names(self, obj: Object) -> dict[str, str]:
        metadata = obj["metadata"]
        return {
            "gvk": str(self.controlled.gvk),
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
        }

    def _report(
        self, log: EventLog, outcome: PlayResult, result: RunResult, trigger: Trigger
    ) -> None:
        keys = {
            "job": log.job,
            "name": log.name,
            "namespace": log.namespace,
            "reason": trigger.reason,
        }
        if result.rc == 0:
            _LOG.info("Ansible-runner exited successfully", **keys)
        else:
            if result.error:
                # No task has told it.
                keys["error"] = result.error
            _LOG.error("Run ended with failures", rc=result.rc, status=result.status, **keys)
        log.recap(outcome.recap)
        if self.settings.debug_logs:
            log.debug(result.stdout)

    def _request(
        self,
        obj: Object,
        job: str,
        kubeconfig: Path,
        variables: ExtraVars,
        *,
        finalizing: bool,
    ) -> RunRequest:
        watch, settings = self.controlled.watch, self.settings
        annotations = obj["metadata"].get("annotations") or {}
        verbosity = self._annotated_verbosity(annotations)
        artifacts = bounded_annotation(
            annotations,
            ARTIFACTS_ANNOTATION,
            1,
            max(MOST_ANNOTATED_ARTIFACTS, watch.max_runner_artifacts),
        )
        play, timeout = watch.play, watch.run_timeout
        if finalizing and watch.finalizer is not None:
            play = watch.finalizer.play or play
            timeout = watch.finalizer.run_timeout or timeout
        return RunRequest(
            ident=job,
            directory=self.directory(obj),
            target=_target(play, gather_facts=settings.gather_facts),
            extra_vars=variables,
            kubeconfig=kubeconfig,
            verbosity=self.controlled.verbosity if verbosity is None else verbosity,
            command_line=settings.command_line,
            inventory=settings.inventory,
            artifacts_to_keep=watch.max_runner_artifacts if artifacts is None else artifacts,
            timeout=timeout or None,
            isolation=watch.isolation,
        )

    def _annotated_verbosity(self, annotations: Mapping[str, str]) -> int | None:
        most = max(self.settings.annotated_verbosity, self.controlled.verbosity)
        return bounded_annotation(annotations, VERBOSITY_ANNOTATION, 0, most)

    def directory(self, obj: Object) -> Path:
        """The private data directory of an object."""
        metadata = obj["metadata"]
        return self._directory(metadata.get("namespace", ""), metadata["name"])

    def _directory(self, namespace: str, name: str) -> Path:
        if not self.controlled.can_have(namespace, name):
            raise EngineError(f"{namespace[:60]!r}/{name[:60]!r} names no object")
        gvk = self.controlled.gvk
        return self.settings.run_root.joinpath(gvk.group, gvk.version, gvk.kind, namespace, name)

    async def forget(self, namespace: str, name: str) -> None:
        """Remove the files that runs of an object have left."""
        await in_disk_thread(functools.partial(remove, self._directory(namespace, name)))
