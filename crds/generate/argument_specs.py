# SPDX-License-Identifier: Apache-2.0
"""A kind's role variables as Ansible argument spec.

Ansible checks them at the start of every run, so the spec stays flat. With the fields of the
resource two levels deep, a run took 0.25 s longer than with none (a flat spec: 0.03 s), and the
check would say nothing that the API server and rendering do not say as well. Argument specs set no
defaults; the role's ``defaults/main.yml`` does.
"""

from crds.generate.sources import GROUP, Json, Kind
from crds.generate.yaml_text import generated


def text(kind: Kind) -> str:
    """The spec as YAML."""
    return generated(kind.source, {"argument_specs": {"main": entry_point(kind)}})


def entry_point(kind: Kind) -> Json:
    """The entry point of the role."""
    prefix = kind.role
    parts = ", ".join(f"C({name})" for name in kind.schema["properties"] if name != "status")
    return {
        "short_description": f"Reconciles a {kind.name}",
        "description": [kind.description],
        "options": {
            f"{prefix}_resource": {
                "type": "dict",
                "required": True,
                "description": [
                    f"The {kind.name} in the format of Kubernetes.",
                    f"Has C(apiVersion) ({kind.api_version}), C(kind), C(metadata) and {parts}.",
                    "It is data; templates in it are not evaluated.",
                    f"docs/reference/api.md and {_explain(kind)} describe the fields.",
                ],
            },
            f"{prefix}_state": {
                "type": "str",
                "choices": ["present", "absent"],
                "description": ["Whether it should exist, with all objects that belong to it."],
            },
            f"{prefix}_wait": {
                "type": "bool",
                "description": ["Whether to wait until it is ready or, for V(absent), deleted."],
            },
            f"{prefix}_wait_timeout": {
                "type": "int",
                "description": ["Maximum time to wait, in seconds; the run fails after that."],
            },
            f"{prefix}_manage_status": {
                "type": "bool",
                "description": [
                    "Whether to write the status of the resource.",
                    "Requires the custom resource definitions in the cluster.",
                ],
            },
        },
    }


def _explain(kind: Kind) -> str:
    """The command of kubectl; kinds of another group may share their name with one of ours."""
    name = kind.name.lower() if kind.group == GROUP else f"<plural>.{kind.group}"
    return f"C(kubectl explain {name})"
