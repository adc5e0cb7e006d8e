# SPDX-License-Identifier: Apache-2.0
"""Which changes of a controlled object lead to a run."""

from collections.abc import Callable, Container, Mapping
from typing import Any

from ansible_operator import metrics
from ansible_operator.kube.interface import EventType, Object
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Key, WorkQueue
from ansible_operator.loop.settings import Controlled
from ansible_operator.loop.triggers.own_writes import ForeignChanges
from ansible_operator.watches import Watch

_LOG = get_logger("ansible-controller")
EVENT_NAMES = {
    EventType.ADDED: "Create",
    EventType.MODIFIED: "Update",
    EventType.DELETED: "Delete",
}
"""How debug lines name events."""


def _metadata(obj: Object) -> Mapping[str, Any]:
    metadata: Mapping[str, Any] = obj["metadata"]
    return metadata


def _selected(watch: Watch, obj: Object) -> bool:
    return watch.selects(_metadata(obj))


def _has_finalizer(watch: Watch, obj: Object) -> bool:
    finalizer = watch.finalizer
    return finalizer is not None and finalizer.name in (_metadata(obj).get("finalizers") or ())


def conditions_of(obj: Object, wanted: Container[str]) -> dict[str, tuple[str, str]]:
    """Return status and reason of an object's conditions by their type.

    Whoever writes a status may write anything: what has no shape of a condition is left out.

    Args:
        obj: with its status.
        wanted: types of conditions.
    """
    status = obj.get("status")
    listed = status.get("conditions") if isinstance(status, Mapping) else None
    return {
        one["type"]: (str(one.get("status")), str(one.get("reason") or ""))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping) and isinstance(one.get("type"), str) and one["type"] in wanted
    }


def why_run(watch: Watch, event: EventType, before: Object | None, now: Object) -> str:
    """Why an event of an object leads to a run; ``""`` if it does not.

    A change of labels that makes an object match counts, and so does every deletion of an object
    that carries our finalizer, whatever its labels are.
    """
    if event is EventType.DELETED:
        return "deleted"
    if before is None or event is EventType.ADDED:
        return "created" if _selected(watch, now) or _is_finalizing(watch, now) else ""
    if _is_finalizing(watch, now) and not _is_finalizing(watch, before):
        return "deletion requested"
    if not _selected(watch, now):
        return ""
    return _why_update(watch, before, now) if _selected(watch, before) else "selected"


def _why_update(watch: Watch, before: Object, now: Object) -> str:
    old, new = _metadata(before), _metadata(now)
    if old.get("uid") != new.get("uid"):
        return "created"
    generations = old.get("generation") or 0, new.get("generation") or 0
    if generations[0] != generations[1]:
        return "spec changed"
    if generations == (0, 0):
        return "changed"
    if watch.watch_annotations_changes and old.get("annotations") != new.get("annotations"):
        return "annotations changed"
    return ""


def _is_finalizing(watch: Watch, obj: Object) -> bool:
    return bool(_metadata(obj).get("deletionTimestamp")) and _has_finalizer(watch, obj)


class PrimaryTrigger:
    """Receives the events of the objects of one controller and adds them to the queue.

    Args:
        controlled: the kind.
        queue: where runs wait.
        foreign: distinguishes changes by the object's own run from others.
        on_deleted: called after each deletion.
    """

    def __init__(
        self,
        controlled: Controlled,
        queue: WorkQueue,
        foreign: ForeignChanges,
        on_deleted: Callable[[Controlled, Key], None],
    ) -> None:
        self._controlled = controlled
        self._queue = queue
        self._foreign = foreign
        self._on_deleted = on_deleted

    def __call__(self, event: EventType, before: Object | None, now: Object) -> None:
        """An informer's handler."""
        self._count(event, now)
        self._log_ignored(event, now)
        reason = why_run(self._controlled.watch, event, before, now)
        metadata = _metadata(now)
        key = Key(self._controlled.name, metadata.get("namespace", ""), metadata["name"])
        if reason == "annotations changed":
            self._foreign.consider(key, now, reason, fresh=True)
        elif reason:
            self._queue.add(key, reason=reason, fresh=True, requested=reason != "created")
        if event is EventType.DELETED:
            self._on_deleted(self._controlled, key)

    def _log_ignored(self, event: EventType, now: Object) -> None:
        metadata, watch = _metadata(now), self._controlled.watch
        namespace = metadata.get("namespace", "")
        if event is EventType.ADDED and namespace in watch.ignored_namespaces:
            about = {"gvk": str(watch.kind), "name": metadata["name"], "namespace": namespace}
            _LOG.info("The namespace is ignored, skipping the resource", **about)

    def _count(self, event: EventType, now: Object) -> None:
        metadata, gvk = _metadata(now), self._controlled.gvk
        labels = (gvk.group, gvk.kind, metadata["name"], metadata.get("namespace", ""), gvk.version)
        if event is EventType.DELETED:
            metrics.forget_resource(labels)
        else:
            metrics.note_resource(labels, metadata.get("creationTimestamp", ""))
            if wanted := self._controlled.watch.condition_metrics:
                metrics.note_conditions(labels, conditions_of(now, wanted))
        keys = {
            "Event type": EVENT_NAMES[event],
            "GroupVersionKind": str(gvk),
            "Name": metadata["name"],
            "Namespace": metadata.get("namespace", ""),
        }
        _LOG.debug("Metrics handler event", **keys)
