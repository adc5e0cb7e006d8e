# SPDX-License-Identifier: Apache-2.0
"""The dashboard: a backend that reads metrics by SQL, and a frontend.

The backend reads the database password from its configuration file. A ConfigMap is no place for it,
so an init container writes the file from the ConfigMap and the credential Secret into a volume in
memory.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from ..api import names, toml
from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Manifest, References, Resource
from ..workload import configmaps as configmap
from ..workload import overlay, policies, services, workloads
from ..workload.containers import (
    config_map_volume,
    container_security,
    pod_security,
)
from ..workload.helper_resources import helper_resources
from ..workload.pods import (
    place,
    template_metadata,
)
from ..workload.sets import SetContext, dependency_of

Json = dict[str, Any]

_DEFAULT_IMAGE: Final = "matrixorigin/dashboard:0.1.0"
_PORTS: Final = policies.Ports(internal=(), public=(names.PORT_WEB,))
_INSTANCE_KEYS: Final = (("db", "username"), ("db", "password"))
_TEMPLATE_MOUNT: Final = "/etc/matrixone/template"
_VOLUME_RENDERED: Final = "rendered"
_FRONTEND_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "32Mi"},
    "limits": {"cpu": "200m", "memory": "128Mi"},
}
_WRITER_RESOURCES: Final = {
    "requests": {"cpu": "10m", "memory": "16Mi"},
    "limits": {"cpu": "100m", "memory": "64Mi"},
}
_WRITABLE_BY_FRONTEND: Final = {"cache": "/var/cache/nginx", "run": "/var/run", "tmp": "/tmp"}  # noqa: S108

WRITE_CONFIG: Final = """\
set -eu
awk '
function quoted(text,    result, i, c) {
  for (i = 1; i <= length(text); i++) {
    c = substr(text, i, 1)
    if (c == "\\\\" || c == "\\"") c = "\\\\" c
    result = result c
  }
  return "\\"" result "\\""
}
{ print }
$0 == "[db]" {
  print "username = " quoted(ENVIRON["DB_USERNAME"])
  print "password = " quoted(ENVIRON["DB_PASSWORD"])
}
' "$CONFIG_TEMPLATE" >"$CONFIG_FILE"
"""
"""Shell program of the init container: the configuration with the credential behind ``[db]``."""


def render_webui(resource: Resource, *, references: References) -> list[Manifest]:
    """Return every object of a WebUI, in the order in which to apply them.

    Args:
        resource: the WebUI.
        references: the CNSet that it shows.

    Raises:
        InvalidSpec: The WebUI cannot be rendered.
    """
    context = dataclasses.replace(SetContext.of(names.WEB_UI, resource), version=None)
    cn_set = _cn_set(resource, references)
    config_map = configmap.config_map(context, {names.CONFIG_FILE: _config(context, cn_set)})
    template = _template(context, config_map["metadata"]["name"], cn_set)
    rolling = workloads.rolling_update(context.spec, "25%", "25%")
    return [
        config_map,
        services.client_service(context, names.PORT_WEB, "web"),
        workloads.deployment(context, template, rolling, 0),
        *policies.policies(context, _PORTS, 1, evict_unhealthy=True),
    ]


def _cn_set(resource: Resource, references: References) -> Resource | None:
    named = dependency_of(resource, "cnset")
    if named is None:
        return None
    cn_set = references.get("cnSet")
    if cn_set is None:
        raise InvalidSpec("deps.cnset", f"there is no CNSet {named[0]}/{named[1]}")
    return cn_set


def _config(context: SetContext, cn_set: Resource | None) -> str:
    user = configmap.user_config(context.spec, _INSTANCE_KEYS)
    operator: toml.Table = {
        "db": {"host": _host(context, cn_set), "port": names.PORT_SQL},
        "log": {"level": "info", "format": "console"},
        "server": {
            "host": "0.0.0.0",  # noqa: S104 - inside the Pod
            "port": names.PORT_WEB_BACKEND,
            "tokenEffectiveTime": 2,
            "mode": "playground",
        },
    }
    return configmap.config_text(context.spec, user, operator)


def _host(context: SetContext, cn_set: Resource | None) -> str:
    """Return the SQL host: the CNSet's Service, or that of the group ``tp`` of its cluster."""
    owner, namespace = names.cn_set_name(context.owner, "tp"), context.namespace
    if cn_set is not None:
        metadata = Fields("", cn_set).table("metadata")
        owner, namespace = metadata.required_text("name"), metadata.text("namespace") or namespace
    domain = names.service_domain(namespace, context.spec.text("clusterDomain"))
    return f"{names.base_name(names.CN_SET, owner)}.{domain}"


def _credential(context: SetContext, cn_set: Resource | None) -> str:
    """Return the name of the Secret with username and password."""
    chosen = context.spec.table("credentialSecretRef").text("name")
    labels = Fields("", cn_set or {}).table("metadata").table("labels")
    cluster = labels.text(names.LABEL_CLUSTER) or context.owner
    return chosen or names.credential_name(cluster)


def images(spec: Fields) -> tuple[str, str]:
    """Return the images of backend and frontend.

    Both come from one repository and differ in the tag: ``backend-<tag>`` and ``frontend-<tag>``;
    the spec's image names the repository and the tag with or without such a prefix.
    """
    repository, colon, tag = (spec.text("image") or _DEFAULT_IMAGE).rpartition(":")
    if not colon or "/" in tag or "@" in repository:
        raise spec.refuse("image", "must be <repository>:<tag>, from which both images follow")
    version = tag.removeprefix("backend-").removeprefix("frontend-")
    return f"{repository}:backend-{version}", f"{repository}:frontend-{version}"


def _template(context: SetContext, config_map: str, cn_set: Resource | None) -> Json:
    over = context.spec.table("overlay")
    backend_image, frontend_image = images(context.spec)
    pull = context.spec.text("imagePullPolicy") or "IfNotPresent"
    backend = _backend(context, backend_image, pull)
    overlay.apply_to_main(backend, over)
    pod: Json = {
        "containers": [backend, _frontend(context, frontend_image, pull)],
        "volumes": [
            config_map_volume(names.VOLUME_CONFIG, config_map),
            {"name": _VOLUME_RENDERED, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            *({"name": f"frontend-{name}", "emptyDir": {}} for name in _WRITABLE_BY_FRONTEND),
        ],
        "enableServiceLinks": False,
        "securityContext": pod_security(),
    }
    if not over.text("serviceAccountName"):
        pod["automountServiceAccountToken"] = False
    place(context, pod)
    overlay.apply_to_pod(pod, over)
    pod["initContainers"] = [_writer(context, cn_set, backend), *over.items("initContainers")]
    return {"metadata": template_metadata(context, over, {}), "spec": pod}


def _backend(context: SetContext, image: str, pull: str) -> Json:
    container: Json = {
        "name": f"{context.owner}-backend",
        "image": image,
        "imagePullPolicy": pull,
        "command": ["/mocloud-metric-service", "-c"],
        "args": [f"{names.CONFIG_MOUNT}/{names.CONFIG_FILE}"],
        "ports": [{"name": "service", "containerPort": names.PORT_WEB_BACKEND}],
        "volumeMounts": [
            {"name": _VOLUME_RENDERED, "mountPath": names.CONFIG_MOUNT, "readOnly": True}
        ],
        "readinessProbe": _probe(names.PORT_WEB_BACKEND),
        "securityContext": container_security(),
    }
    resources = context.spec.table("resources")
    if resources.data:
        container["resources"] = dict(resources.data)
    return container


def _frontend(context: SetContext, image: str, pull: str) -> Json:
    return {
        "name": f"{context.owner}-frontend",
        "image": image,
        "imagePullPolicy": pull,
        "ports": [{"name": "web", "containerPort": names.PORT_WEB}],
        "volumeMounts": [
            {"name": f"frontend-{name}", "mountPath": path}
            for name, path in _WRITABLE_BY_FRONTEND.items()
        ],
        "readinessProbe": _probe(names.PORT_WEB),
        **helper_resources(context, _FRONTEND_RESOURCES),
        "securityContext": container_security(read_only=False),
    }


def _probe(port: int) -> Json:
    return {"tcpSocket": {"port": port}, "periodSeconds": 5, "failureThreshold": 3}


def _writer(context: SetContext, cn_set: Resource | None, backend: Json) -> Json:
    """Return the init container; the database's image has the shell that the backend's may lack."""
    secret = _credential(context, cn_set)
    image = Fields("", cn_set or {}).table("spec").text("image") or backend["image"]
    return {
        "name": "write-config",
        "image": image,
        "imagePullPolicy": backend.get("imagePullPolicy", "IfNotPresent"),
        "command": ["/bin/sh", "-c", WRITE_CONFIG],
        "env": [
            {"name": "CONFIG_TEMPLATE", "value": f"{_TEMPLATE_MOUNT}/{names.CONFIG_FILE}"},
            {"name": "CONFIG_FILE", "value": f"{names.CONFIG_MOUNT}/{names.CONFIG_FILE}"},
            *(
                {
                    "name": f"DB_{key.upper()}",
                    "valueFrom": {"secretKeyRef": {"name": secret, "key": key}},
                }
                for key in ("username", "password")
            ),
        ],
        "volumeMounts": [
            {"name": names.VOLUME_CONFIG, "mountPath": _TEMPLATE_MOUNT, "readOnly": True},
            {"name": _VOLUME_RENDERED, "mountPath": names.CONFIG_MOUNT},
        ],
        **helper_resources(context, _WRITER_RESOURCES),
        "securityContext": container_security(),
    }
