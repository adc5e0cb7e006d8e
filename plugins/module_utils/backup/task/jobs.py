# SPDX-License-Identifier: Apache-2.0
"""The objects of Kubernetes that carry out a task: ConfigMaps, an account with one right, a Job.

The Job's Pod runs the program of the operator's image. It reads its task and the Secrets from
files, and may do nothing in Kubernetes but write its own result (`tasks`).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ...api import digests, names
from ...api.certificates import AUTHORITY, CERTIFICATE
from ...api.fields import Fields
from ...api.types import Manifest, Resource
from ...workload import overlay
from ...workload.containers import config_map_volume, container_security, pod_security, value_env
from . import tasks
from .tasks import Report, Task

IMAGE_VARIABLE: Final = "OPERATOR_IMAGE"
"""The environment variable of the operator that names its own image."""
COLLECTIONS: Final = "/opt/ansible/.ansible/collections"
"""Where the operator's image has its collections."""
PROGRAM: Final = (
    "ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.run"
)
_REQUESTS: Final = {"cpu": "100m", "memory": "256Mi"}
_MOST_CPU: Final = "2"
_MEMORY: Final = 512
"""MiB that a Job may use besides those for each file in work."""
_MEMORY_OF_FILE: Final = 64
"""MiB per file that is read and written at a time; 8 to 48 were measured."""
_PARALLELISM: Final = 8
BACKOFF_LIMIT: Final = 3
_LONGEST_BASE: Final = 57
"""Characters, so that what is added to the names of Pods leaves DNS labels."""
_SECRETS: Final = (("Secret", "secretRef"), ("Certificates", "certificateRef"))
_RBAC: Final = "rbac.authorization.k8s.io"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a Job runs, from the spec of a BackupJob or RestoreJob (``JobSettings``).

    Attributes:
        image: of the program.
        service_account: of the Pod; empty for one that is created for the task.
        backoff_limit: how many times it is tried again.
        deadline_seconds: after which Kubernetes ends it.
        suspend: whether it must not run now.
        resources: of the container.
        node_selector: of the Pod.
        over: the overlay.
    """

    image: str
    service_account: str = ""
    backoff_limit: int = BACKOFF_LIMIT
    deadline_seconds: int = tasks.DEADLINE_SECONDS
    suspend: bool = False
    resources: Mapping[str, Any] | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    over: Fields = field(default_factory=lambda: Fields("spec.overlay", {}))

    @classmethod
    def of(cls, spec: Fields, image: str) -> Settings:
        """Read the settings of a spec.

        Args:
            spec: of a BackupJob or RestoreJob.
            image: of the operator; empty where that is not known.

        Raises:
            InvalidSpec: a field cannot be used, or there is no image.
        """
        over = spec.table("overlay")
        image = over.text("image") or image
        if not image:
            raise over.refuse(
                "image", f"must be set where {IMAGE_VARIABLE} does not name the operator's image"
            )
        retries = spec.number("backoffLimit")
        account = spec.text("serviceAccountName") or over.text("serviceAccountName")
        return cls(
            image=image,
            service_account=account,
            backoff_limit=BACKOFF_LIMIT if retries is None else retries,
            deadline_seconds=spec.number("activeDeadlineSeconds", 1) or tasks.DEADLINE_SECONDS,
            suspend=spec.flag("suspend"),
            resources=spec.table("resources").data or default_resources(spec.number("parallelism")),
            over=over,
        )


def default_resources(parallelism: int | None) -> Json:
    """Return requests and limits of a Job's container, complete, as quotas require.

    Args:
        parallelism: how many files are read and written at a time; None for the default.
    """
    memory = _MEMORY + _MEMORY_OF_FILE * (parallelism or _PARALLELISM)
    return {"requests": dict(_REQUESTS), "limits": {"cpu": _MOST_CPU, "memory": f"{memory}Mi"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A task and what its Pod needs to carry it out.

    Attributes:
        resource: whose task it is; objects have its kind and name in their labels.
        namespace: of the objects.
        suffix: of their names: ``backup``, ``restore``, ``delete`` or ``verify``.
        task: what to do; its report is set here.
        login: name of the Secret with user and password; empty for none.
        certificate: name of the Secret by which the database proves what it is; empty for none.
        target: the table with ``s3`` or ``fileSystem`` of the task's target.
        source: that of its source.
    """

    resource: Resource
    namespace: str
    suffix: str
    task: Task
    login: str = ""
    certificate: str = ""
    target: Fields | None = None
    source: Fields | None = None

    @property
    def base(self) -> str:
        """Name of the Job and the beginning of the other names."""
        return base_name(self.resource["metadata"]["name"], self.suffix)

    @property
    def labels(self) -> dict[str, str]:
        """Labels of all objects; those of the Pods are among them."""
        return {
            **selector(self.resource, self.namespace),
            "app.kubernetes.io/name": names.PART_OF,
            "app.kubernetes.io/instance": self.resource["metadata"]["name"],
            "app.kubernetes.io/component": self.suffix,
            "app.kubernetes.io/part-of": names.PART_OF,
            "app.kubernetes.io/managed-by": names.MANAGED_BY,
        }


def base_name(owner: str, suffix: str) -> str:
    """Return the name of a task's Job; a long one is cut and gets a digest."""
    if len(owner) + len(suffix) + 1 > _LONGEST_BASE:
        kept = _LONGEST_BASE - len(suffix) - 9
        owner = f"{owner[:kept].rstrip('-')}-{digests.digest7(owner)}"
    return f"{owner}-{suffix}"


def task_name(base: str) -> str:
    """Return the name of the ConfigMap with the task."""
    return f"{base}-task"


def result_name(base: str) -> str:
    """Return the name of the ConfigMap with the result."""
    return f"{base}-result"


def secrets_of(place: Fields, role: str) -> dict[str, str]:
    """Return the names of the Secrets that a location names, by the label of their reference.

    Args:
        place: the table with ``s3`` or ``fileSystem``.
        role: the beginning of the labels: ``target`` or ``source``.
    """
    s3 = place.table("s3")
    named = {f"{role}{label}": s3.table(field).text("name") for label, field in _SECRETS}
    return {label: name for label, name in named.items() if name}


def selector(resource: Resource, namespace: str) -> dict[str, str]:
    """Return the labels that select what belongs to a resource's tasks."""
    return names.selector_labels(resource["kind"], resource["metadata"]["name"], namespace)


def task_objects(work: Work, settings: Settings) -> list[Manifest]:
    """Return the objects of a task in the order in which they are created, the Job last.

    Raises:
        InvalidSpec: A field that shapes the Pod cannot be used.
    """
    account = settings.service_account or work.base
    report = Report(work.namespace, result_name(work.base))
    text = tasks.task_to_json(replace(work.task, report=report))
    task = _manifest(work, "v1", "ConfigMap", task_name(work.base))
    task |= {"immutable": True, "data": {tasks.TASK_KEY: text}}
    own = [] if settings.service_account else [_manifest(work, "v1", "ServiceAccount", work.base)]
    return [
        task,
        _manifest(work, "v1", "ConfigMap", report.name),
        *own,
        *_right(work, report, account),
        _job(work, settings, account),
    ]


def created_once(objects: Iterable[Manifest]) -> list[str]:
    """Return ``Kind/name`` of those that are never changed: what runs keeps its task and image."""
    return [
        f"{manifest['kind']}/{manifest['metadata']['name']}"
        for manifest in objects
        if manifest["kind"] == "Job" or manifest.get("immutable")
    ]


def _manifest(work: Work, api_version: str, kind: str, name: str) -> Manifest:
    metadata = {"name": name, "namespace": work.namespace, "labels": work.labels}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _right(work: Work, report: Report, account: str) -> list[Manifest]:
    """Return the right to write the result, and who has it."""
    rule = {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [report.name],
        "verbs": ["get", "patch"],
    }
    role = _manifest(work, f"{_RBAC}/v1", "Role", work.base) | {"rules": [rule]}
    binding = _manifest(work, f"{_RBAC}/v1", "RoleBinding", work.base) | {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": work.base},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": work.namespace}],
    }
    return [role, binding]


def _job(work: Work, settings: Settings, account: str) -> Manifest:
    return _manifest(work, "batch/v1", "Job", work.base) | {
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": settings.backoff_limit,
            "activeDeadlineSeconds": settings.deadline_seconds,
            "suspend": settings.suspend,
            "podFailurePolicy": {
                "rules": [
                    # An eviction is no failure of the task.
                    {
                        "action": "Ignore",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    },
                    {
                        "action": "FailJob",
                        "onExitCodes": {
                            "containerName": names.CONTAINER_MAIN,
                            "operator": "In",
                            "values": [tasks.PERMANENT],
                        },
                    },
                ]
            },
            "template": _template(work, settings, account),
        }
    }


def _template(work: Work, settings: Settings, account: str) -> Json:
    volumes = _beside_overlay(_volumes(work), settings.over)
    main: Json = {
        "name": names.CONTAINER_MAIN,
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", PROGRAM],
        "env": [
            value_env("PYTHONPATH", COLLECTIONS),
            value_env("PYTHONDONTWRITEBYTECODE", "1"),
        ],
        "resources": dict(settings.resources or default_resources(None)),
        "securityContext": container_security(),
        "volumeMounts": [
            {"name": volume["name"], "mountPath": path, **({"readOnly": True} if fixed else {})}
            for volume, path, fixed in volumes
        ],
    }
    overlay.apply_to_main(main, settings.over)
    pod: Json = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "containers": [main],
        "volumes": [volume for volume, _path, _fixed in volumes],
    }
    if settings.node_selector:
        pod["nodeSelector"] = dict(settings.node_selector)
    overlay.apply_to_pod(pod, settings.over)
    pod["serviceAccountName"] = account
    metadata: Json = {"labels": work.labels}
    overlay.apply_to_metadata(metadata, settings.over, selector(work.resource, work.namespace))
    return {"metadata": metadata, "spec": pod}


_Mounted = tuple[Json, str, bool]
"""A volume, where it is mounted, and whether it is only read."""


def _volumes(work: Work) -> Iterable[_Mounted]:
    yield config_map_volume("task", task_name(work.base)), f"{tasks.FOLDER}/task", True
    if work.login:
        yield _secret("login", work.login)
    if work.certificate:
        yield _certificates("tls", work.certificate)
    taken: dict[str, Mapping[str, Any]] = {}
    for role, place in (("target", work.target), ("source", work.source)):
        if place is not None:
            yield from _secrets_of(role, place.table("s3"))
            yield from _folder_of(role, place.table("fileSystem"), taken)
    yield {"name": names.VOLUME_TEMP, "emptyDir": {}}, names.TEMP_MOUNT, False


def _beside_overlay(volumes: Iterable[_Mounted], over: Fields) -> list[_Mounted]:
    """Return the volumes but for folders that the overlay mounts itself."""
    mounts = {mount.text("mountPath").rstrip("/") for mount in over.tables("volumeMounts")}
    return [
        volume
        for volume in volumes
        if not (volume[0]["name"].endswith("-files") and volume[1] in mounts)
    ]


def _secrets_of(role: str, s3: Fields) -> Iterable[_Mounted]:
    if secret := s3.table("secretRef").text("name"):
        yield _secret(role, secret)
    if secret := s3.table("certificateRef").text("name"):
        yield _secret(f"{role}-ca", secret)


def _secret(name: str, secret: str) -> _Mounted:
    volume = {"name": name, "secret": {"secretName": secret, "defaultMode": 0o644}}
    return volume, f"{tasks.FOLDER}/{name}", True


def _certificates(name: str, secret: str) -> _Mounted:
    """Mount what a Secret of TLS shows to everybody: never its key. The program says what lacks."""
    items = [{"key": key, "path": key} for key in (CERTIFICATE, AUTHORITY)]
    shown = {"secretName": secret, "defaultMode": 0o644, "items": items, "optional": True}
    return {"name": name, "secret": shown}, f"{tasks.FOLDER}/{name}", True


def _folder_of(role: str, files: Fields, taken: dict[str, Mapping[str, Any]]) -> Iterable[_Mounted]:
    """Yield the volume of a folder, once where source and target share it."""
    source = files.table("volume").data
    if not source:
        return
    mount = posixpath.normpath(files.text("mountPath") or files.required_text("path"))
    if mount not in taken:
        taken[mount] = source
        yield {"name": f"{role}-files", **source}, mount, False
    elif taken[mount] != source:
        raise files.refuse("mountPath", f"{mount!r} is where another volume is mounted")
