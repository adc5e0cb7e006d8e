# SPDX-License-Identifier: Apache-2.0
"""The objects of an operator in its cluster: rights, namespace, Deployment; and samples."""

from collections.abc import Sequence

from ansible_operator.authoring.names import KindNames
from ansible_operator.authoring.options import Option
from ansible_operator.authoring.schema import field_name
from ansible_operator.authoring.yaml_text import Json

IMAGE = "controller:latest"
"""The image in the Deployment, which `make deploy` replaces."""
_RBAC = "rbac.authorization.k8s.io"
_PORTS = {"probes": 6789, "metrics": 8443}
_EXAMPLES: dict[str, object] = {"int": 1, "float": 1.0, "bool": True, "list": [], "dict": {}}


def watch(names: KindNames, role: str) -> Json:
    """The entry of watches.yaml."""
    return {
        "group": names.group,
        "version": names.version,
        "kind": names.kind,
        "role": role,
        "markUnsafe": True,
    }


def service_account(project: str) -> Json:
    """Who the operator is."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _own(project)}


def leader_election(project: str) -> list[Json]:
    """The rights by which replicas agree on a leader, in the namespace of the operator alone."""
    name = f"{project}-leader-election"
    role: Json = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": project},
        "rules": [
            {
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "verbs": ["get", "create", "update"],
            },
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        ],
    }
    return [role, _binding("RoleBinding", "Role", {"name": name, "namespace": project}, project)]


def rights(project: str, names: KindNames, handled: Sequence[Json]) -> list[Json]:
    """The rights for one kind and for what its role handles, in all namespaces.

    Args:
        project: name of the project.
        names: the kind.
        handled: rules for the objects of the role.
    """
    name = f"{project}-{names.plural}"
    role: Json = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {
                "apiGroups": [names.group],
                "resources": [names.plural],
                "verbs": ["get", "list", "watch", "patch"],
            },
            {
                "apiGroups": [names.group],
                "resources": [f"{names.plural}/status"],
                "verbs": ["get", "patch"],
            },
            {
                "apiGroups": [names.group],
                "resources": [f"{names.plural}/finalizers"],
                "verbs": ["update"],
            },
            {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
            *handled,
        ],
    }
    return [role, _binding("ClusterRoleBinding", "ClusterRole", {"name": name}, project)]


def _binding(kind: str, role: str, metadata: Json, project: str) -> Json:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": role, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": project, "namespace": project}],
    }


def namespace(project: str) -> Json:
    """The namespace of the operator; it lets in what Pods of the strictest level may do."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": project,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    }


def deployment(project: str) -> Json:
    """The operator."""
    labels = {"app.kubernetes.io/name": project}
    pod: Json = {
        "serviceAccountName": project,
        "terminationGracePeriodSeconds": 40,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(project)],
        "volumes": [
            {"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "ansible", "emptyDir": {"sizeLimit": "256Mi"}},
        ],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**_own(project), "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _container(project: str) -> Json:
    return {
        "name": "operator",
        "image": IMAGE,
        "args": [
            "--leader-elect",
            f"--leader-election-id={project}",
            f"--metrics-bind-address=:{_PORTS['metrics']}",
            "--metrics-secure",
            f"--health-probe-bind-address=:{_PORTS['probes']}",
        ],
        "env": [{"name": "ANSIBLE_GATHERING", "value": "explicit"}],
        "ports": [{"name": name, "containerPort": port} for name, port in _PORTS.items()],
        "livenessProbe": _probe("/healthz", delay=15, period=20),
        "readinessProbe": _probe("/readyz", delay=2, period=5),
        "resources": {
            "requests": {"cpu": "50m", "memory": "256Mi"},
            "limits": {"memory": "768Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a path in the container
            {"name": "ansible", "mountPath": "/opt/ansible/.ansible/tmp"},
        ],
    }


def _probe(path: str, delay: int, period: int) -> Json:
    return {
        "httpGet": {"path": path, "port": "probes"},
        "initialDelaySeconds": delay,
        "periodSeconds": period,
        "timeoutSeconds": 5,
    }


def _own(project: str) -> Json:
    return {"name": project, "namespace": project}


def kustomization(*resources: str) -> Json:
    """A kustomization of these files and folders."""
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": list(resources),
    }


def sample(names: KindNames, options: Sequence[Option]) -> Json:
    """An object of the kind: what is required, and what has a default."""
    return {
        "apiVersion": names.api_version,
        "kind": names.kind,
        "metadata": {"name": f"{names.singular}-sample"},
        "spec": _fields(options),
    }


def _fields(options: Sequence[Option]) -> Json:
    return {
        field_name(option): _example(option)
        for option in options
        if option.is_required or isinstance(option.default, str | int | float)
    }


def _example(option: Option) -> object:
    is_template = isinstance(option.default, str) and "{" in option.default
    if isinstance(option.default, str | int | float) and not is_template:
        return option.default
    if option.type == "dict" and option.options is not None:
        return _fields(option.options)
    if option.choices and option.type != "list":
        return option.choices[0]
    return _EXAMPLES.get(option.type, "1" if option.type in {"bytes", "bits"} else "example")
