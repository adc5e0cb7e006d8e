# SPDX-License-Identifier: Apache-2.0
"""Assembly of the Pod template of Log, TN, CN and proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ..api import names, versions
from ..api.fields import Fields
from . import overlay, storage
from .containers import config_map_volume, container_security, pod_security
from .sets import SetContext
from .storage import SharedStorage

Json = dict[str, Any]

_DEFAULT_PULL_POLICY: Final = "IfNotPresent"


@dataclass(frozen=True, slots=True)
class PodParts:
    """What a kind adds to the common Pod template.

    Attributes:
        config_map: name of the ConfigMap with start script and TOML.
        config_mount: where it is mounted.
        data_volume: volume for the data directory; None when a claim template provides it.
        env: environment of ``main`` before what is common.
        probes: startupProbe, readinessProbe and livenessProbe of ``main``.
        shared: the shared storage; None when the user's own configuration describes it.
        volumes: volumes before the common ones.
        mounts: their mounts.
        annotations: annotations of the template besides the common ones.
        extras: further fields of the Pod's spec.
        pre_stop: command that `main` is stopped after; empty for none.
        is_store: whether it is a store of the database, which gets a default GODEBUG and whose
            program ``memoryFsSize`` puts into memory.
    """

    config_map: str
    config_mount: str
    data_volume: Json | None
    env: list[Json]
    probes: Mapping[str, Json]
    shared: SharedStorage | None
    volumes: list[Json] = field(default_factory=list)
    mounts: list[Json] = field(default_factory=list)
    annotations: Mapping[str, str] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    pre_stop: list[str] = field(default_factory=list)
    is_store: bool = True


def pod_template(context: SetContext, parts: PodParts) -> Json:
    """Return the Pod template of a set.

    Raises:
        InvalidSpec: A field that shapes the Pod cannot be used.
    """
    over = context.spec.table("overlay")
    main = _main(context, parts)
    overlay.apply_to_main(main, _with_default_env(parts, over))
    pod: Json = {
        "containers": [main],
        "volumes": [*parts.volumes, *_writable_volumes(parts)],
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        **parts.extras,
    }
    if not over.text("serviceAccountName"):
        pod["automountServiceAccountToken"] = False
    _inject_storage(main, pod, parts.shared)
    place(context, pod)
    overlay.apply_to_pod(pod, over)
    if parts.is_store:
        _put_binary_into_memory(context, main, pod)
    pod["volumes"] = overlay.upsert(
        pod["volumes"], [config_map_volume(names.VOLUME_CONFIG, parts.config_map)]
    )
    return {"metadata": template_metadata(context, over, parts.annotations), "spec": pod}


def place(context: SetContext, pod: Json) -> None:
    """Put node selector and topology spread into a Pod's spec, in place."""
    selector = context.spec.texts_by_key("nodeSelector")
    if selector:
        pod["nodeSelector"] = selector
    keys = context.spec.texts("topologySpread")
    if keys:
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                # A node that is lost is no place to spread to: its Pods move to the others.
                "nodeTaintsPolicy": "Honor",
                "labelSelector": {"matchLabels": context.selector},
            }
            for key in dict.fromkeys(keys)
        ]


def _main(context: SetContext, parts: PodParts) -> Json:
    main: Json = {
        "name": names.CONTAINER_MAIN,
        "image": context.spec.required_text("image", "must be set to the image of MatrixOne"),
        "imagePullPolicy": _DEFAULT_PULL_POLICY,
        "command": ["/bin/sh", f"{parts.config_mount}/{names.START_SCRIPT}"],
        "args": _service_args(context.spec),
        "workingDir": names.DATA_MOUNT,
        "env": [*parts.env, *_cluster_domain(context), *_memory_limit(context.spec)],
        "volumeMounts": [
            {"name": names.VOLUME_DATA, "mountPath": names.DATA_MOUNT},
            *parts.mounts,
            {"name": names.VOLUME_CONFIG, "mountPath": parts.config_mount, "readOnly": True},
            {"name": names.VOLUME_TEMP, "mountPath": names.TEMP_MOUNT},
        ],
        **parts.probes,
        "securityContext": container_security(),
    }
    if parts.pre_stop:
        main["lifecycle"] = {"preStop": {"exec": {"command": parts.pre_stop}}}
    resources = context.spec.table("resources")
    if resources.data:
        main["resources"] = dict(resources.data)
    return main


def _service_args(spec: Fields) -> list[str]:
    if spec.raw("serviceArgs") is None:
        return list(names.DEFAULT_SERVICE_ARGS)
    args = spec.texts("serviceArgs")
    for argument in args:
        if argument.split("=", 1)[0] in ("-cfg", "--cfg"):
            raise spec.refuse("serviceArgs", "must not contain -cfg, the operator sets it")
    return list(args)


def _cluster_domain(context: SetContext) -> list[Json]:
    domain = context.spec.text("clusterDomain")
    return [{"name": "CLUSTER_DOMAIN", "value": domain}] if domain else []


def _memory_limit(spec: Fields) -> list[Json]:
    """Return GOMEMLIMIT, unless there is nothing to derive it from or the overlay has its own."""
    percent = spec.number("memoryLimitPercent", minimum=1)
    limits = spec.table("resources").table("limits")
    limit = storage.checked_bytes(limits, "memory")
    if percent is None or not limit:
        return []
    if percent > 100:
        raise spec.refuse("memoryLimitPercent", f"must be at most 100, not {percent}")
    if any(entry.text("name") == "GOMEMLIMIT" for entry in spec.table("overlay").tables("env")):
        return []
    return [{"name": "GOMEMLIMIT", "value": str(limit * percent // 100)}]


def _with_default_env(parts: PodParts, over: Fields) -> Fields:
    """Add the default GODEBUG behind the overlay's own environment."""
    if not parts.is_store:
        return over
    if any(entry.text("name") == "GODEBUG" for entry in over.tables("env")):
        return over
    env = [*over.items("env"), {"name": "GODEBUG", "value": names.DEFAULT_GODEBUG}]
    return Fields(over.path, {**over.data, "env": env})


def _writable_volumes(parts: PodParts) -> list[Json]:
    """Return the places that a read-only root file system leaves to write to."""
    data = [parts.data_volume] if parts.data_volume else []
    return [*data, {"name": names.VOLUME_TEMP, "emptyDir": {}}]


def _inject_storage(main: Json, pod: Json, shared: SharedStorage | None) -> None:
    if shared is None:
        return
    pod["volumes"] = overlay.upsert(pod["volumes"], shared.volumes())
    taken = {mount.get("mountPath") for mount in main["volumeMounts"]}
    if shared.s3 is None:
        free = [mount for mount in shared.mounts() if mount["mountPath"] not in taken]
        main["volumeMounts"] = [*main["volumeMounts"], *free]
        return
    main["volumeMounts"] = overlay.upsert(main["volumeMounts"], shared.mounts(), "mountPath")
    main["env"] = overlay.upsert(main["env"], shared.env())


def _put_binary_into_memory(context: SetContext, main: Json, pod: Json) -> None:
    if context.spec.raw("memoryFsSize") is None:
        return
    size = storage.size_of(context.spec, "memoryFsSize")
    volume = {"name": names.VOLUME_BINARY, "emptyDir": {"medium": "Memory", "sizeLimit": size}}
    pod["volumes"] = overlay.upsert(pod["volumes"], [volume])
    main["volumeMounts"] = overlay.upsert(
        main["volumeMounts"],
        [{"name": names.VOLUME_BINARY, "mountPath": names.BINARY_MOUNT}],
        "mountPath",
    )
    main["env"] = overlay.upsert(
        main["env"], [{"name": "MO_BIN_PATH", "value": names.BINARY_MOUNT}]
    )


def template_metadata(context: SetContext, over: Fields, extra: Mapping[str, str]) -> Json:
    """Return labels and annotations of a Pod template."""
    annotations = dict(extra)
    if context.prometheus_scheme == "Pod":
        annotations.update(scrape_annotations())
    if context.version is not None:
        annotations[names.ANNOTATION_SEMANTIC_VERSION] = str(context.version)
    if context.operator != versions.OLDEST_OPERATOR_VERSION:
        annotations[names.ANNOTATION_OPERATOR_VERSION] = str(context.operator)
    if context.restarted:
        annotations[names.ANNOTATION_RESTARTED] = context.restarted
    metadata: Json = {"labels": context.labels, "annotations": annotations}
    overlay.apply_to_metadata(metadata, over, context.selector)
    if not metadata["annotations"]:
        del metadata["annotations"]
    return metadata


def scrape_annotations() -> dict[str, str]:
    """Return the annotations by which Prometheus finds a target."""
    return {
        names.ANNOTATION_SCRAPE: "true",
        names.ANNOTATION_SCRAPE_PORT: str(names.PORT_METRICS),
    }
