# SPDX-License-Identifier: Apache-2.0
"""The Jobs of a claim: they run where log stores may run, and log in to the store as they do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from ..api import names
from ..api.fields import Fields
from ..api.types import Manifest, Resource
from ..backup.task import jobs
from ..backup.task.tasks import Task

_OF_OVERLAY: Final = ("tolerations", "imagePullSecrets", "priorityClassName")


def secrets_of(resource: Resource) -> dict[str, str]:
    """Return the Secrets that the store needs, by the label of their reference."""
    return jobs.secrets_of(Fields("", resource).table("spec"), "target")


def objects_of(
    resource: Resource, suffix: str, task: Task, image: str, deadline: int | None = None
) -> list[Manifest]:
    """Return the objects of a Job.

    Args:
        resource: the claim.
        suffix: of their names.
        task: what to do.
        image: of the operator; empty where that is not known.
        deadline: seconds; None for the usual.

    Raises:
        InvalidSpec: a field that shapes the Pod cannot be used, or there is no image.
    """
    spec = Fields("", resource).table("spec")
    namespace = resource["metadata"]["namespace"]
    work = jobs.Work(resource=resource, namespace=namespace, suffix=suffix, task=task, target=spec)
    pod = spec.table("logSetSpec").table("spec")
    settings = replace(
        jobs.Settings.of(_settings(pod), image), node_selector=pod.table("nodeSelector").data
    )
    if deadline is not None:
        settings = replace(settings, deadline_seconds=deadline)
    return jobs.task_objects(work, settings)


def _settings(pod: Fields) -> Fields:
    """Return the settings of the Job that follow from a Pod template."""
    over: dict[str, Any] = {name: pod.raw(name) for name in _OF_OVERLAY if pod.raw(name)}
    main = [
        container
        for container in pod.tables("containers")
        if container.text("name") == names.CONTAINER_MAIN
    ]
    env = [variable.data for own in main for variable in own.tables("env")]
    over["env"] = [variable for variable in env if str(variable.get("name")).startswith("AWS_")]
    account = pod.text("serviceAccountName")
    return Fields("spec", {"overlay": over, "serviceAccountName": account or None})
