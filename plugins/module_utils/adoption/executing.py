# SPDX-License-Identifier: Apache-2.0
"""Carries the steps of an adoption out, one after the other, each as far as it is still to be done.

A step that deletes something names the very object, by its uid. What is awaited has a limit, and
whoever runs the adoption again goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..clients.kubernetes.editing import Editor
from ..clients.kubernetes.errors import ApiError, Conflict, KubeError, NotFound, WaitExpired
from ..clients.kubernetes.kinds import object_path
from ..clients.kubernetes.session import MERGE_PATCH, Session
from ..reporting.conditions import find
from ..reporting.reasons import ConditionType
from ..workload import kruise
from ..workload.plans import PAUSE_ANNOTATIONS
from .facts import Cluster, Set
from .observing import observe
from .reading import PAUSED_BY_US
from .steps import Action, Step

Json = dict[str, Any]

_PAUSE: Final = 2.0  # seconds
_ATTEMPTS: Final = 5
_GONE_SECONDS: Final = 120.0
"""For a controller to see a change, and for the garbage collector to orphan a workload's Pods."""


class Changed(KubeError):
    """Something is not as the plan has it any more."""


@dataclass(frozen=True, slots=True)
class Executor:
    """Carries steps out.

    Attributes:
        session: connection to the API server.
        namespace: of the cluster.
        cluster: name of the cluster.
        timeout: seconds that a set has to serve.
        say: told what is waited for.
    """

    session: Session
    namespace: str
    cluster: str
    timeout: float
    say: Callable[[str], None]

    def run(self, step: Step) -> None:
        """Carry a step out.

        Raises:
            KubeError: the API server refuses, an object is another one by now, or a wait expired.
        """
        carried = {
            Action.RESUME: self._annotate,
            Action.PAUSE: self._annotate,
            Action.HAND_OVER: self._annotate,
            Action.COMPLETE: self._annotate,
            Action.HAND_BACK: self._annotate,
            Action.KEEP_CLAIMS: self._keep_claims,
            Action.FREE_CLAIM: self._free_claim,
            Action.RELEASE_POD: self._release_pod,
            Action.ORPHAN: self._orphan,
            Action.END_POD: self._end,
            Action.END_WORKLOAD: self._end,
            Action.END_POLICY: self._end,
            Action.AWAIT_HELD: self._await_held,
            Action.AWAIT_SERVING: self._await_serving,
        }
        carried[step.action](step)

    def _identity(self, step: Step) -> Json:
        metadata = {"namespace": self.namespace, "name": step.name}
        if step.uid:
            metadata["uid"] = step.uid
        return {"apiVersion": step.api_version, "kind": step.kind, "metadata": metadata}

    def _live(self, step: Step) -> Json | None:
        """Return the object of a step, which must be the one that was planned for.

        Raises:
            Changed: it is another one of that name.
        """
        try:
            found = Editor(self.session).get(self._identity(step))
        except NotFound:
            return None
        if found is not None and step.uid and found["metadata"]["uid"] != step.uid:
            raise Changed(f"{step.kind} {step.name} is another one than a moment ago")
        return found

    def _required(self, step: Step) -> Json:
        found = self._live(step)
        if found is None:
            raise Changed(f"{step.kind} {step.name} does not exist any more")
        return found

    def _merge(self, step: Step, change: Json) -> None:
        """Change fields of an object, whatever else others change of it."""
        self.session.request(
            "PATCH",
            object_path(self.session, self._identity(step)),
            attempt=f"change {step.kind} {step.name}",
            query={"fieldManager": names.FIELD_MANAGER},
            body=change,
            content_type=MERGE_PATCH,
        )

    def _thin_out(self, step: Step, field: str, leaves: Callable[[Any], bool]) -> None:
        """Remove entries from a list of an object's metadata, and no entry that is added meanwhile.

        Raises:
            Conflict: others change the object all the time.
        """
        for attempts_left in reversed(range(_ATTEMPTS)):
            live = self._live(step)
            entries = [] if live is None else live["metadata"].get(field) or []
            kept = [entry for entry in entries if not leaves(entry)]
            if live is None or kept == entries:
                return
            version = live["metadata"]["resourceVersion"]
            try:
                self._merge(step, {"metadata": {field: kept, "resourceVersion": version}})
            except Conflict:
                if not attempts_left:
                    raise
            else:
                return

    def _annotate(self, step: Step) -> None:
        paused = PAUSE_ANNOTATIONS[0]
        annotations = {
            Action.RESUME: {paused: None},
            Action.PAUSE: {paused: PAUSED_BY_US},
            Action.HAND_OVER: {kruise.ANNOTATION_ADOPTION: kruise.UNDER_WAY},
            Action.COMPLETE: {kruise.ANNOTATION_ADOPTION: kruise.COMPLETE},
            Action.HAND_BACK: {kruise.ANNOTATION_ADOPTION: None},
        }[step.action]
        self._required(step)
        self._merge(step, {"metadata": {"annotations": annotations}})

    def _keep_claims(self, step: Step) -> None:
        """Tell a workload to keep its claims, and wait until its controller has heard that.

        Controllers name the workload as the owner of claims as long as they do not know better.
        """
        policy = {"whenDeleted": "Retain", "whenScaled": "Retain"}
        self._required(step)
        self._merge(step, {"spec": {"persistentVolumeClaimRetentionPolicy": policy}})
        deadline = time.monotonic() + _GONE_SECONDS
        while not _has_seen(self._required(step)):
            if time.monotonic() > deadline:
                message = f"the controller of {step.kind} {step.name} does not see that it changed"
                raise WaitExpired(f"{message} after {_GONE_SECONDS:g} s; does OpenKruise run?")
            time.sleep(_PAUSE)

    def _free_claim(self, step: Step) -> None:
        self._required(step)
        self._thin_out(step, "ownerReferences", lambda owner: owner.get("kind") == "StatefulSet")

    def _release_pod(self, step: Step) -> None:
        self._thin_out(step, "finalizers", lambda name: name in step.removes)

    def _orphan(self, step: Step) -> None:
        """Delete a workload without its Pods, and wait until these belong to nobody.

        Raises:
            Changed: its claims would go with it.
        """
        live = self._live(step)
        if live is None:
            return
        self._require_free_claims(step)
        Editor(self.session).delete(self._identity(step), "Orphan")
        deadline = time.monotonic() + _GONE_SECONDS
        while self._live_or_none(step) is not None:
            if time.monotonic() > deadline:
                title = f"{step.kind} {step.name}"
                raise WaitExpired(f"{title} is still there after {_GONE_SECONDS:g} s")
            time.sleep(_PAUSE)

    def _live_or_none(self, step: Step) -> Json | None:
        """Return the object of a step; None if it is gone, and its successor is there."""
        try:
            return self._live(step)
        except Changed:
            return None

    def _require_free_claims(self, step: Step) -> None:
        """Check again, right before a workload goes, that it owns no claim with data."""
        part = self._part(step)
        if not part.stateful:
            return
        for claim in part.claims:
            if any(owner.uid == step.uid for owner in claim.owners):
                raise Changed(f"PersistentVolumeClaim {claim.name} is owned by {step.kind} again")

    def _end(self, step: Step) -> None:
        if self._live_or_none(step) is not None:
            Editor(self.session).delete(self._identity(step), "Background")

    def _part(self, step: Step) -> Set:
        return part_of(observe(self.session, self.namespace, self.cluster), step.part)

    def _await_held(self, step: Step) -> None:
        hint = "does our operator run, with rights in this namespace?"
        self._await(step, lambda part: part.held, "our operator to report that it waits", hint)

    def _await_serving(self, step: Step) -> None:
        hint = f"see: kubectl -n {self.namespace} describe {step.kind.lower()} {step.name}"
        self._await(step, _serves_without_others, "it to serve", hint)

    def _await(self, step: Step, reached: Callable[[Set], bool], what: str, hint: str) -> None:
        deadline, shown = time.monotonic() + self.timeout, ""
        while not reached(self._part(step)):
            message = self._message(step)
            if message != shown:
                self.say(f"{step.part}: {message}")
                shown = message
            if time.monotonic() > deadline:
                text = f"{step.part}: waited {self.timeout:g} s for {what}: {message}; {hint}"
                raise WaitExpired(text)
            time.sleep(_PAUSE)

    def _message(self, step: Step) -> str:
        """Return what the status of a set says."""
        try:
            live = self._required(step)
        except ApiError as error:
            return str(error)
        conditions = (find(live, one) for one in (ConditionType.SYNCED, ConditionType.READY))
        texts = [str(one.get("message")) for one in conditions if one.get("status") != "True"]
        return "; ".join(texts) or "its Pods are being replaced"


def part_of(cluster: Cluster, title: str) -> Set:
    """Return a set of a cluster.

    Raises:
        Changed: it does not exist any more.
    """
    for one in cluster.sets:
        if one.title == title:
            return one
    raise Changed(f"{title} of {cluster.namespace}/{cluster.name} does not exist any more")


def _serves_without_others(part: Set) -> bool:
    """Return whether a set serves, and no Pod is left that compute nodes of before had."""
    left = any(pod.left_behind for pod in part.pods) and part.kind == names.CN_SET
    return _serves_now(part) and not left


def _serves_now(part: Set) -> bool:
    """Return whether our workload is settled; Pods that wait for their end do not count."""
    return part.serves and part.own is not None and part.own.settled


def _has_seen(live: Mapping[str, Any]) -> bool:
    seen = int((live.get("status") or {}).get("observedGeneration") or 0)
    return seen >= int(live["metadata"].get("generation") or 0)
