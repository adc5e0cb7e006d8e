# SPDX-License-Identifier: Apache-2.0
"""The work of the roles as a kopf operator: one Deployment per Work, kept as it should be.

It does what ``kubernetes.core.k8s`` does: look, then create, or patch what differs. Runs are
counted under the name that the runners use.
"""

import os
from typing import Any

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from prometheus_client import Counter, start_http_server

_KIND = ("bench.example.com", "v1alpha1", "works")
_PERIOD = float(os.environ["PERIOD"].removesuffix("s"))
_RUNS = Counter("controller_runtime_reconcile", "Ended runs", ["controller"]).labels("works")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """As many runs at a time as the other peers have; no Events."""
    settings.execution.max_workers = int(os.environ["WORKERS"])
    settings.posting.enabled = False
    config.load_kube_config()
    start_http_server(int(os.environ["METRICS_PORT"]), addr="127.0.0.1")


@kopf.on.create(*_KIND, id="done")
@kopf.on.update(*_KIND, id="done")
def done(name: str, namespace: str, spec: Any, **_: Any) -> str:
    """A Work is new or has changed."""
    return _play(name, namespace, spec)


@kopf.on.resume(*_KIND)
def resumed(name: str, namespace: str, spec: Any, **_: Any) -> None:
    """The operator has started."""
    _play(name, namespace, spec)


@kopf.on.timer(*_KIND, interval=_PERIOD, initial_delay=_PERIOD)
def periodic(name: str, namespace: str, spec: Any, **_: Any) -> None:
    """The period is over."""
    _play(name, namespace, spec)


@kopf.on.field("apps", "v1", "deployments", field="spec.replicas", labels={"app": "bench"})
def disturbed(name: str, namespace: str, old: Any, **_: Any) -> None:
    """Somebody has changed a Deployment."""
    if old is not None:
        found = client.CustomObjectsApi().get_namespaced_custom_object(
            "bench.example.com", "v1alpha1", namespace, "works", name
        )
        _play(name, namespace, found["spec"])


def _play(name: str, namespace: str, spec: Any) -> str:
    wanted = _deployment(name, namespace, spec)
    apps = client.AppsV1Api()
    try:
        found = apps.read_namespaced_deployment(name, namespace)
    except ApiException as error:
        if error.status != 404:
            raise
        kopf.adopt(wanted)
        apps.create_namespaced_deployment(namespace, wanted)
    else:
        if found.spec.replicas != wanted["spec"]["replicas"]:
            apps.patch_namespaced_deployment(name, namespace, wanted)
    _RUNS.inc()
    return "done"


def _deployment(name: str, namespace: str, spec: Any) -> dict[str, Any]:
    container = {
        "name": "sleep",
        "image": "sleep:1",
        "command": ["sleep", "infinity"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": "bench"}},
        "spec": {
            "replicas": spec["size"],
            "selector": {"matchLabels": {"work": name}},
            "template": {
                "metadata": {"labels": {"work": name}},
                "spec": {"containers": [container]},
            },
        },
    }
