# SPDX-License-Identifier: Apache-2.0
"""The role of a new project: a Deployment, from the spec of its resource."""

from ansible_operator.authoring.names import KindNames
from ansible_operator.authoring.options import Option, parse
from ansible_operator.authoring.yaml_text import Json, documents

_IMAGE = "registry.k8s.io/pause:3.10"


def files(names: KindNames) -> dict[str, str]:
    """The files of the role by their paths in its folder."""
    specs = {"argument_specs": {"main": {"short_description": _title(names), "options": _SPECS}}}
    return {
        "meta/argument_specs.yml": documents(
            specs,
            comment="An option is a field of the spec, in camelCase. After a change: `make crd`.",
        ),
        "defaults/main.yml": documents(_defaults(names)),
        "tasks/main.yml": documents([_task(names)]),
    }


def options() -> tuple[Option, ...]:
    """What its argument specs describe."""
    return parse(_SPECS)


_SPECS: Json = {
    "size": {"type": "int", "default": 1, "description": ["Number of Pods."]},
    "image": {
        "type": "str",
        "default": _IMAGE,
        "description": ["Image of the container; the default one does nothing."],
    },
}


def _title(names: KindNames) -> str:
    return f"Runs a {names.kind} as a Deployment"


def _defaults(names: KindNames) -> Json:
    return {
        f"{names.singular}_name": "{{ ansible_operator_meta.name }}",
        f"{names.singular}_namespace": "{{ ansible_operator_meta.namespace }}",
        f"{names.singular}_labels": {
            "app.kubernetes.io/name": names.singular,
            "app.kubernetes.io/instance": f"{{{{ {names.singular}_name }}}}",
        },
    }


def _task(names: KindNames) -> Json:
    def variable(name: str) -> str:
        return f"{{{{ {names.singular}_{name} }}}}"

    container: Json = {
        "name": names.singular,
        "image": "{{ image }}",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod: Json = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    labels = variable("labels")
    definition: Json = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": variable("name"),
            "namespace": variable("namespace"),
            "labels": labels,
        },
        "spec": {
            "replicas": "{{ size }}",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return {
        "name": "Apply the Deployment",
        "kubernetes.core.k8s": {"definition": definition},
    }
