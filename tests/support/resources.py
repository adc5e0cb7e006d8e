# SPDX-License-Identifier: Apache-2.0
"""Resources for tests: the smallest valid ones, to be changed field by field."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import toml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.types import References
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)

Json = dict[str, Any]

API_VERSION = "core.matrixorigin.io/v1alpha1"
S3 = {
    "type": "minio",
    "path": "matrixone/prod",
    "endpoint": "http://minio.default:9000",
    "secretRef": {"name": "minio"},
}
GRANTED: Json = {"metadata": {}, "status": {"state": "InUse"}}
"""A BucketClaim whose path belongs to its LogSet, as a pass observes it."""
SCRIPT = "#!/bin/sh\nexec /mo-service -cfg /etc/config.toml\n"
DELETE = object()


def merged(base: Any, change: Any) -> Any:
    """Lay a change over a table; DELETE takes a field away."""
    if not isinstance(base, dict) or not isinstance(change, dict):
        return copy.deepcopy(change)
    result = copy.deepcopy(base)
    for key, value in change.items():
        if value is DELETE:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def resource(kind: str, name: str, spec: Json, deps: Json | None = None) -> Json:
    """Return a resource in the namespace prod."""
    body: Json = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": name, "namespace": "prod"},
        "spec": spec,
    }
    if deps is not None:
        body["deps"] = deps
    return body


def depends(**named: str) -> Json:
    """Return a ``deps`` table."""
    return {
        field: {"metadata": {"name": name, "namespace": "prod"}} for field, name in named.items()
    }


def logset(**spec: Any) -> Json:
    """Return a LogSet ``mo`` on minio."""
    base = {
        "image": "matrixorigin/matrixone:2.0.1",
        "replicas": 3,
        "volume": {"size": "10Gi"},
        "sharedStorage": {"s3": S3},
    }
    return resource("LogSet", "mo", merged(base, spec))


def dnset(deps: Json | None = None, **spec: Any) -> Json:
    """Return a DNSet ``mo``."""
    base = {"image": "matrixorigin/matrixone:2.0.1", "replicas": 1}
    return resource("DNSet", "mo", merged(base, spec), deps or depends(logSet="mo"))


def cnset(deps: Json | None = None, **spec: Any) -> Json:
    """Return a CNSet ``mo-tp``."""
    base = {"image": "matrixorigin/matrixone:2.0.1", "replicas": 2}
    named = depends(logSet="mo", dnSet="mo")
    return resource("CNSet", "mo-tp", merged(base, spec), deps or named)


def proxyset(deps: Json | None = None, **spec: Any) -> Json:
    """Return a ProxySet ``mo``."""
    base = {"image": "matrixorigin/matrixone:2.0.1", "replicas": 2}
    return resource("ProxySet", "mo", merged(base, spec), deps or depends(logSet="mo"))


def webui(deps: Json | None = None, **spec: Any) -> Json:
    """Return a WebUI ``mo``."""
    return resource("WebUI", "mo", merged({"replicas": 1}, spec), deps or depends(cnset="mo-tp"))


def cluster(**spec: Any) -> Json:
    """Return a MatrixOneCluster ``mo`` with a proxy."""
    base = {
        "imageRepository": "matrixorigin/matrixone",
        "version": "2.0.1",
        "logService": {
            "replicas": 3,
            "volume": {"size": "10Gi"},
            "sharedStorage": {"s3": S3},
        },
        "tn": {"replicas": 1, "cacheVolume": {"size": "10Gi"}},
        "cnGroups": [{"name": "tp", "replicas": 2, "cacheVolume": {"size": "10Gi"}}],
    }
    return resource("MatrixOneCluster", "mo", merged(base, spec))


EARLY_FULL: Json = {
    "imagePullPolicy": "IfNotPresent",
    "imagePullSecrets": [{"name": "registry"}],
    "terminationGracePeriodSeconds": 60,
    "forceDeleteStsPodOnError": True,
    "disablePVCDeletionFinalizer": True,
    "rollingDeploy": True,
    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
    "podManagementPolicy": "OrderedReady",
    "storageClass": "standard",
    "podName": {"name": "WHO", "value": "me"},
    "requests": {"cpu": "500m", "memory": "1Gi"},
    "limits": {"memory": "1Gi"},
    "livenessProbe": {"tcpSocket": {"port": 6001}, "periodSeconds": 20},
    "readinessProbe": {"tcpSocket": {"port": 6001}, "periodSeconds": 3},
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
            ]
        }
    },
    "dnsPolicy": "ClusterFirst",
    "dnsConfig": {"searches": ["example"]},
    "serviceType": "NodePort",
}


def early(**spec: Any) -> Json:
    """Return a MatrixoneCluster ``mo`` of the first operator."""
    base = {
        "image": "matrixorigin/matrixone:1.3.0",
        "dataVolumeCap": "10Gi",
        "logVolumeCap": "10Gi",
    }
    found = resource("MatrixoneCluster", "mo", merged(base, spec))
    return {**found, "apiVersion": "matrixone.matrixorigin.cn/v1alpha1"}


def render(subject: Json, *, log_set: Json | None = None, cn_set: Json | None = None) -> list[Json]:
    """Render a set of any kind with a LogSet ``mo`` and a CNSet ``mo-tp`` at hand."""
    references: References = {
        "logSet": log_set or logset(),
        "cnSet": cn_set or cnset(),
    }
    kinds = ("logset", "dnset", "cnset", "proxyset")
    return render_everything(
        subject, start_scripts=dict.fromkeys(kinds, SCRIPT), references=references
    )


def find(objects: list[Json], kind: str, name: str | None = None) -> Json:
    """Return the one object of a kind, or the one that also has the name."""
    found = [o for o in objects if o["kind"] == kind and name in (None, o["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} objects are {kind} {name or ''}"
    return found[0]


def names_of(objects: list[Json], kind: str) -> list[str]:
    """Return the names of all objects of a kind."""
    return [o["metadata"]["name"] for o in objects if o["kind"] == kind]


def config_map(objects: list[Json]) -> Json:
    """Return the ConfigMap with the configuration."""
    return next(o for o in objects if o["kind"] == "ConfigMap" and "-config-" in name_of(o))


def name_of(manifest: Json) -> str:
    """Return an object's name."""
    name: str = manifest["metadata"]["name"]
    return name


def config_text(objects: list[Json]) -> str:
    """Return the rendered TOML."""
    data = config_map(objects)["data"]
    text: str = data.get("logservice.toml") or data["config.toml"]
    return text


def config(objects: list[Json]) -> Json:
    """Return the rendered TOML, read back."""
    return toml.parse(config_text(objects), "config")


def workload(objects: list[Json]) -> Json:
    """Return the workload."""
    return next(o for o in objects if o["kind"] in ("StatefulSet", "Deployment"))


def pod(objects: list[Json]) -> Json:
    """Return the Pod spec of the workload."""
    spec: Json = workload(objects)["spec"]["template"]["spec"]
    return spec


def main(objects: list[Json]) -> Json:
    """Return the container ``main``."""
    container: Json = pod(objects)["containers"][0]
    return container


def env(objects: list[Json]) -> dict[str, Any]:
    """Return the environment of ``main`` by name: the value, or where it comes from."""
    return {e["name"]: e.get("value", e.get("valueFrom")) for e in main(objects)["env"]}


def volumes(objects: list[Json]) -> dict[str, Json]:
    """Return the Pod's volumes by name."""
    return {volume["name"]: volume for volume in pod(objects)["volumes"]}


def mounts(objects: list[Json]) -> dict[str, str]:
    """Return the volume of ``main`` at each path."""
    return {mount["mountPath"]: mount["name"] for mount in main(objects)["volumeMounts"]}
