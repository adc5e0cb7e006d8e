# SPDX-License-Identifier: Apache-2.0
"""The mark at the path of a claim, which a Job writes before the LogSet may use the path.

Claims of other Kubernetes clusters cannot be seen, nor that two names are one server; the mark can.
``status.granted`` says for which place the path was granted, and the uid in its mark. A path that
is used again keeps that uid, whichever claim it is of by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.owners import Owner
from ..api.timestamps import unix_time
from ..api.types import Resource
from ..backup.errors import InvalidTask
from ..backup.task import jobs, tasks
from ..backup.task.deletion import missing_secret, ongoing, started, wrong
from ..backup.task.lifecycle import left_of
from ..backup.task.observed import TaskObserved
from ..backup.task.plan import PassContext
from ..backup.task.starting import owner_of as owner_of_task
from ..backup.task.state import State, task_state_of
from ..backup.task.tasks import Reason, Task, Verb
from ..reporting.reasons import BackupReason
from .bucket_jobs import objects_of, secrets_of
from .claims import Granted, granted_of, kept_before, location_of
from .observed import BucketObserved
from .plans import BucketPlan

SUFFIX: Final = "claim"
_DEADLINE_SECONDS: Final = 3600
_AGAIN_SECONDS: Final = 60.0
_FOREIGN_SECONDS: Final = 600.0
_RUNNING_SECONDS: Final = 3600.0
"""After which a failed attempt is repeated: while a database waits for it, while the path is
somebody else's, and while the database runs anyway."""
_SOON, _LATER = "2s", "10s"
_WITHOUT_IMAGE: Final = {
    "reason": BackupReason.WAITING.value,
    "message": f"{jobs.IMAGE_VARIABLE} does not name the operator's image, which the Job needs",
}


@dataclass(frozen=True, slots=True)
class Marking:
    """A claim whose path is to be marked.

    Attributes:
        resource: the claim.
        using: the plan once the path is granted.
        waiting: the plan until then: it is in use already, or it is not.
        others: claims that can be read.
        is_running: whether the database runs at this path already; it is not stopped.
    """

    resource: Resource
    using: BucketPlan
    waiting: BucketPlan
    others: Iterable[Mapping[str, Any]]
    is_running: bool = False

    def plan(self, observed: BucketObserved, context: PassContext) -> BucketPlan:
        """Return the plan that grants the path once it is marked.

        Args:
            observed: the Job, its task and result, and the Secrets.
            context: time, image and level.

        Raises:
            InvalidSpec: the Job cannot be created.
        """
        here = Granted.at(location_of(self.resource))
        if not context.image:
            facts = {"granted": here.document}
            return replace(self.using, facts=facts, unmarked=_WITHOUT_IMAGE)
        task = self._task()
        if _is_of_another_task(task, observed.task):
            message = "the Job that marks the path is replaced, as what it marks has changed"
            return self._unmarked(message=message, stop=left_of(observed.task), requeue=_SOON)
        return self._of_job(task, here, observed, context)

    def _of_job(
        self, task: Task, here: Granted, observed: BucketObserved, context: PassContext
    ) -> BucketPlan:
        task_state = task_state_of(observed.task, context.now)
        if task_state.state is State.SUCCEEDED:
            said = task_state.result.message if task_state.result else ""
            facts = {"granted": replace(here, mark=task.id).document}
            return replace(self.using, facts=facts, message=said, stop=left_of(observed.task))
        if task_state.state is State.FAILED:
            return self._failed(task_state.reason, task_state.message, observed, context)
        under_way = ongoing(self.waiting, task_state, observed.task, context)
        if under_way is not None and under_way.problem:
            return self._wrong(under_way.problem["reason"], under_way.message, _LATER)
        if under_way is not None:
            return self._unmarked(message="marking the path", requeue=_SOON)
        return self._begun(task, observed, context)

    def _begun(self, task: Task, observed: BucketObserved, context: PassContext) -> BucketPlan:
        namespace = self.resource["metadata"]["namespace"]
        secrets = secrets_of(self.resource)
        lacking = missing_secret(self.waiting, secrets, namespace, observed.existing)
        if lacking is not None:
            return self._wrong(lacking.problem["reason"], lacking.message, _LATER)
        objects = objects_of(self.resource, SUFFIX, task, context.image, _DEADLINE_SECONDS)
        begun = started(self.waiting, objects, context)
        if begun.problem:
            return self._wrong(begun.problem["reason"], begun.message, _LATER)
        return self._unmarked(
            message="marking the path",
            objects=begun.objects,
            create_only=begun.create_only,
            requeue=_SOON,
        )

    def _failed(
        self, reason: str, message: str, observed: BucketObserved, context: PassContext
    ) -> BucketPlan:
        """Say why the path is not marked, and remove the attempt when it is time for the next."""
        is_foreign = reason == Reason.TARGET_NOT_EMPTY.value
        if is_foreign:
            reason, message = BackupReason.PATH_TAKEN.value, f"{message}. {_WAY_OUT}"
        plan = self._wrong(reason, message, _LATER)
        pause = _FOREIGN_SECONDS if is_foreign else _AGAIN_SECONDS
        pause = _RUNNING_SECONDS if self.is_running else pause
        made = filter(None, (observed.task.job, observed.task.result))
        created = (one["metadata"].get("creationTimestamp") for one in made)
        since = unix_time(max((str(one or "") for one in created), default=""))
        if unix_time(context.now) - since < pause:
            return replace(plan, requeue="10m") if self.is_running else plan
        return replace(plan, stop=left_of(observed.task))

    def _wrong(self, reason: str, message: str, requeue: str) -> BucketPlan:
        """Return the plan of a path that is not marked because something is wrong.

        A database that runs goes on; only that its path is somebody else's is a problem of it.
        """
        unmarked = {"reason": reason, "message": message}
        plan = replace(self.waiting, unmarked=unmarked, requeue=requeue)
        if self.is_running and reason != BackupReason.PATH_TAKEN.value:
            return plan
        return wrong(plan, reason, message)

    def _unmarked(self, *, message: str, requeue: str, **more: Any) -> BucketPlan:
        unmarked = {"reason": BackupReason.WAITING.value, "message": message}
        said = "" if self.is_running else message
        return replace(self.waiting, unmarked=unmarked, message=said, requeue=requeue, **more)

    def _task(self) -> Task:
        mark, predecessor = self._identity()
        return Task(
            verb=Verb.CLAIM,
            id=mark,
            owner=owner_of_task(self.resource),
            target=location_of(self.resource),
            predecessor=predecessor,
            deadline_seconds=_DEADLINE_SECONDS,
        )

    def _identity(self) -> tuple[str, Owner | None]:
        """Return the uid of the mark, and who had the path under it."""
        granted = granted_of(self.resource)
        if granted is not None and granted.mark:
            return granted.mark, None
        annotations = self.resource["metadata"].get("annotations") or {}
        if adopted := str(annotations.get(names.ANNOTATION_ADOPT) or ""):
            return adopted, Owner(uid=adopted)
        before = kept_before(self.resource, self.others)
        return (before.uid, before) if before else (mark_of(self.resource), None)


_WAY_OUT: Final = (
    f"If no other database uses it, annotate this claim with {names.ANNOTATION_ADOPT}=<the id in "
    "parentheses>; otherwise use another path"
)


def mark_of(resource: Resource) -> str:
    """Return the uid with which the path of a claim is marked, or would be: its own at first."""
    granted = granted_of(resource)
    marked = granted.mark if granted else ""
    return marked or str(resource["metadata"].get("uid") or "")


def _is_of_another_task(task: Task, observed: TaskObserved) -> bool:
    """Return whether the objects of a Job are those of another task.

    A result without a task is left of a Job that was removed.
    """
    if not (observed.job or observed.order or observed.result):
        return False
    text = Fields("", observed.order or {}).table("data").text(tasks.TASK_KEY)
    try:
        known = tasks.task_from_json(text)
    except InvalidTask:
        return True
    return replace(known, report=None) != tasks.task_from_json(tasks.task_to_json(task))
