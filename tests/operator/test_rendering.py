# SPDX-License-Identifier: Apache-2.0
"""The operator's own objects with what a user chooses."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.operator.rendering import (
    operator_objects,
)

OWN = {"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}


def environment(given: list[dict[str, Any]] | None, chosen: dict[str, Any]) -> Any:
    """Return the variables of a Deployment's container, None if it has no such list."""
    container = {"name": "operator", **({"env": given} if given is not None else {})}
    deployment = {
        "kind": "Deployment",
        "metadata": {"name": "matrixone-operator"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    [made] = operator_objects([deployment], namespace="tools", environment=chosen)
    return made["spec"]["template"]["spec"]["containers"][0].get("env")


@pytest.mark.parametrize(
    ("given", "chosen", "found"),
    [
        (None, {}, None),
        ([OWN], {}, [OWN]),
        (None, {"B": 1, "A": "x"}, [{"name": "A", "value": "x"}, {"name": "B", "value": "1"}]),
        ([OWN], {"DENY_LIST": "a"}, [OWN, {"name": "DENY_LIST", "value": "a"}]),
        ([OWN], {"WATCH_NAMESPACE": "a"}, [{"name": "WATCH_NAMESPACE", "value": "a"}]),
    ],
)
def test_environment(given: Any, chosen: dict[str, Any], found: Any) -> None:
    assert environment(given, chosen) == found
