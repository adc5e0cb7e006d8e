# SPDX-License-Identifier: Apache-2.0
"""A kind's role variables as Ansible argument spec.

Ansible checks them at the start of every run, so the spec stays flat: the fields of the resource
are described in the API reference and checked by the API server and by rendering, which name the
field. Argument specs set no defaults; the role's ``defaults/main.yml`` does.
"""

import yaml

from crds.generate.definition import GROUP, VERSION
from crds.generate.sources import Json, Kind


def text(kind: Kind) -> str:
    """The spec as YAML."""
    header = (
        "# SPDX-License-Identifier: Apache-2.0\n"
        f"# Made by `make crds` from crds/schema/{kind.source}; do not edit.\n---\n"
    )
    spec = {"argument_specs": {"main": _entry_point(kind)}}
    return header + yaml.dump(spec, sort_keys=False, width=110, allow_unicode=True)


def _entry_point(kind: Kind) -> Json:
    prefix = kind.role
    parts = ", ".join(f"C({name})" for name in kind.schema["properties"] if name != "status")
    return {
        "short_description": f"Brings a {kind.name} to the state that its resource describes",
        "description": [kind.description],
        "options": {
            f"{prefix}_resource": {
                "type": "dict",
                "required": True,
                "description": [
                    f"The {kind.name} as it is in Kubernetes.",
                    f"Has C(apiVersion) ({GROUP}/{VERSION}), C(kind), C(metadata) and {parts}.",
                    "It is data; templates in it are not evaluated.",
                    f"docs/reference/api.md lists the fields, as does C(kubectl explain {prefix}).",
                ],
            },
            f"{prefix}_state": {
                "type": "str",
                "choices": ["present", "absent"],
                "description": ["Whether it shall exist, with all that belongs to it, or not."],
            },
            f"{prefix}_wait": {
                "type": "bool",
                "description": ["Whether to wait until it is ready or, for V(absent), gone."],
            },
            f"{prefix}_wait_timeout": {
                "type": "int",
                "description": ["Seconds to wait at most; the run fails after that."],
            },
            f"{prefix}_manage_status": {
                "type": "bool",
                "description": [
                    "Whether to write the status of the resource.",
                    "Needs the custom resource definitions in the cluster.",
                ],
            },
        },
    }
