# SPDX-License-Identifier: Apache-2.0
"""A MatrixoneCluster of the first operator: one StatefulSet, two Services.

Names, labels, claims, mounts and environment are those of the first operator, so that its objects
can be taken over. Images that can start MatrixOne in one process are started so, with a
configuration of ours (runtime ``launch``); older ones, and those with a command of the user's, are
left to themselves (runtime ``image``).
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Final

from ..api import digests as digest
from ..api import names, versions
from ..api.fields import Fields
from ..api.types import Manifest, Resource
from ..workload import storage
from ..workload.containers import (
    field_env,
    value_env,
)
from ..workload.sets import namespace_of
from . import config as early_config
from . import pod as early_pod

Json = dict[str, Any]

LABEL_APP: Final = "app"
LABEL_OWNER: Final = "matrixone_cr"
APP: Final = "matrixone"
CLAIMS: Final = {"data": "dataVolumeCap", "log": "logVolumeCap"}
"""Claim templates and the fields with their sizes."""
ANNOTATION_HASH: Final = "matrixoneOpResourceHash"
ANNOTATION_RUNTIME: Final = f"{names.EARLY_GROUP}/runtime"
ANNOTATION_LOG_TO_VOLUME: Final = f"{names.EARLY_GROUP}/log-to-volume"
ANNOTATION_CLUSTER_DOMAIN: Final = f"{names.EARLY_GROUP}/cluster-domain"
LAUNCH: Final = "launch"
IMAGE: Final = "image"
ORDERED: Final = "OrderedReady"

_SERVICE_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_FIRST_WITH_LAUNCH: Final = 1
"""Major version from which on one process serves everything, with the file format of today."""


@dataclass(frozen=True, slots=True)
class EarlyContext:
    """A MatrixoneCluster and what follows from its identity.

    Attributes:
        owner: its name.
        namespace: its namespace.
        spec: its ``spec``.
        annotations: its annotations.
    """

    owner: str
    namespace: str
    spec: Fields
    annotations: Fields

    @classmethod
    def of(cls, resource: Resource) -> EarlyContext:
        """Read a resource.

        Raises:
            InvalidSpec: It has no usable name or spec.
        """
        root = Fields("", resource)
        if resource.get("kind", names.EARLY) != names.EARLY:
            raise root.refuse("kind", f"must be {names.EARLY}, not {resource.get('kind')!r}")
        metadata = root.table("metadata")
        owner = metadata.required_text("name")
        names.check_owner_name(names.EARLY, owner)
        return cls(
            owner=owner,
            namespace=namespace_of(resource),
            spec=root.table("spec"),
            annotations=metadata.table("annotations"),
        )

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object, and the selector."""
        return {LABEL_APP: APP, LABEL_OWNER: self.owner}

    @property
    def headless(self) -> str:
        """Name of the headless Service."""
        return names.headless_name(self.owner)

    @property
    def image(self) -> str:
        """The image, which must be given."""
        return self.spec.required_text("image", "must be set to an image of MatrixOne")

    @property
    def replicas(self) -> int:
        """Pods that are desired."""
        desired = self.spec.number("replicas")
        return 1 if desired is None else desired

    @property
    def runtime(self) -> str:
        """``launch`` or ``image``.

        Raises:
            InvalidSpec: The annotation has another value.
        """
        chosen = self.annotations.choice(ANNOTATION_RUNTIME, ("auto", IMAGE, LAUNCH), "auto")
        if chosen != "auto":
            return chosen
        if self.spec.texts("command"):
            return IMAGE
        version = versions.parse(versions.image_tag(self.image.partition("@")[0]))
        is_old = version is not None and version.major < _FIRST_WITH_LAUNCH
        return IMAGE if is_old else LAUNCH

    @property
    def log_to_volume(self) -> bool:
        """Whether log lines go to the log volume too."""
        allowed = ("true", "false")
        return self.annotations.choice(ANNOTATION_LOG_TO_VOLUME, allowed, "false") == "true"

    @property
    def domain(self) -> str:
        """What follows the names of Services in the environment of the container."""
        domain = self.annotations.text(ANNOTATION_CLUSTER_DOMAIN) or "cluster.local"
        return names.service_domain(self.namespace, domain)

    def manifest(self, api_version: str, kind: str, name: str, body: Json) -> Manifest:
        """Return an object with labels, and with the hash of its body as the first operator's."""
        metadata = {
            "name": name,
            "namespace": self.namespace,
            "labels": self.labels,
            "annotations": {ANNOTATION_HASH: _hash(body)},
        }
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def render_early(resource: Resource) -> list[Manifest]:
    """Return every object of a MatrixoneCluster, in the order in which to apply them.

    Raises:
        InvalidSpec: The resource cannot be rendered.
    """
    context = EarlyContext.of(resource)
    launch = context.runtime == LAUNCH
    found = [_client_service(context), _headless_service(context, launch=launch)]
    config_map = _config_map(context) if launch else None
    if config_map is not None:
        found += [_network_policy(context), config_map]
    name = config_map["metadata"]["name"] if config_map else None
    return [*found, _stateful_set(context, name)]


def _hash(body: Json) -> str:
    """Return 28 characters that stand for a body, as the first operator wrote them."""
    text = digest.compact_json(body)
    return base64.b64encode(hashlib.sha1(text.encode(), usedforsecurity=False).digest()).decode()


def _client_service(context: EarlyContext) -> Manifest:
    port = {"name": "server", "port": names.PORT_SQL, "targetPort": names.PORT_SQL}
    spec = {
        "type": context.spec.choice("serviceType", _SERVICE_TYPES, "ClusterIP"),
        "ports": [{**port, "protocol": "TCP"}],
        "selector": context.labels,
    }
    return context.manifest("v1", "Service", context.owner, {"spec": spec})


def _headless_service(context: EarlyContext, *, launch: bool) -> Manifest:
    """Return the Service that gives Pods their names, ready or not."""
    ports = early_pod.LAUNCH_PORTS if launch else early_pod.OLD_PORTS
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "ports": [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
            for name, port in ports.items()
        ],
        "selector": context.labels,
    }
    return context.manifest("v1", "Service", context.headless, {"spec": spec})


def _network_policy(context: EarlyContext) -> Manifest:
    """Admit traffic to SQL and metrics; all other ports are the process's own."""
    ports = [{"protocol": "TCP", "port": port} for port in early_pod.LAUNCH_PORTS.values()]
    spec = {
        "podSelector": {"matchLabels": context.labels},
        "policyTypes": ["Ingress"],
        "ingress": [{"ports": ports}],
    }
    return context.manifest("networking.k8s.io/v1", "NetworkPolicy", context.owner, {"spec": spec})


def _config_map(context: EarlyContext) -> Manifest:
    """Return the configuration; its name changes with its content, so that Pods follow."""
    data = early_config.launch_files(context.spec, log_to_volume=context.log_to_volume)
    name = f"{context.owner}-config-{digest.config_suffix(data)}"
    return context.manifest("v1", "ConfigMap", name, {"data": data, "immutable": True})


def _stateful_set(context: EarlyContext, config_map: str | None) -> Manifest:
    spec: Json = {
        "serviceName": context.headless,
        "replicas": context.replicas,
        "podManagementPolicy": context.spec.choice(
            "podManagementPolicy", (ORDERED, "Parallel"), "Parallel"
        ),
        "selector": {"matchLabels": context.labels},
        "persistentVolumeClaimRetentionPolicy": {
            "whenDeleted": "Retain",
            "whenScaled": _when_scaled(context),
        },
        "template": _template(context, config_map),
        "volumeClaimTemplates": [_claim(context, name, size) for name, size in CLAIMS.items()],
    }
    strategy = context.spec.table("updateStrategy")
    if strategy.data:
        spec["updateStrategy"] = dict(strategy.data)
    return context.manifest("apps/v1", "StatefulSet", context.owner, {"spec": spec})


def _template(context: EarlyContext, config_map: str | None) -> Json:
    spec = context.spec
    first = f"{context.owner}-0.{context.headless}.{context.domain}"
    env = [
        value_env("FIRST_NODE", first),
        value_env("SERVICE_NAME", f"{context.headless}.{context.domain}"),
        _pod_name(spec),
    ]
    main: Json = {"name": context.owner, "image": context.image, "env": env}
    if config_map is None:
        pod = early_pod.left_to_image(spec, main)
    else:
        pod = early_pod.launched(spec, main, config_map, log_to_volume=context.log_to_volume)
    metadata: Json = {"labels": context.labels}
    annotations = spec.texts_by_key("podAnnotations")
    restarted = context.annotations.text(names.ANNOTATION_RESTARTED)
    if restarted:
        annotations = {**annotations, names.ANNOTATION_RESTARTED: restarted}
    if annotations:
        metadata["annotations"] = annotations
    return {"metadata": metadata, "spec": pod}


def _pod_name(spec: Fields) -> Json:
    """Return the user's variable, or the one that the first operator's examples had."""
    given = spec.table("podName")
    return dict(given.data) if given.text("name") else field_env("POD_NAME", "metadata.name")


def _when_scaled(context: EarlyContext) -> str:
    """Delete claims of removed Pods only where asked to, and never those of the last Pod."""
    delete = context.spec.flag("deleteOrphanPvc") and context.replicas >= 1
    return "Delete" if delete else "Retain"


def _claim(context: EarlyContext, name: str, field: str) -> Json:
    spec: Json = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": storage.size_of(context.spec, field)}},
    }
    if context.spec.raw("storageClass") is not None:
        spec["storageClassName"] = context.spec.text("storageClass")
    return {"metadata": {"name": name, "labels": context.labels}, "spec": spec}
