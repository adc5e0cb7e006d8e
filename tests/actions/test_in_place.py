# SPDX-License-Identifier: Apache-2.0
"""What the API server keeps in another spelling is in place all the same: nothing is sent again."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.session import (
    open_session,
)

from tests.actions.test_apply import stateful_set

pytestmark = pytest.mark.api

Json = dict[str, Any]

SPELLINGS: dict[str, Json] = {
    "usual": {"requests": {"cpu": "1", "memory": "512Mi"}},
    "part of a unit": {"requests": {"memory": "0.5Gi"}, "limits": {"memory": "1.5Gi"}},
    "thousandths": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "2500m"}},
    "numbers": {"requests": {"cpu": 1, "memory": 1073741824}, "limits": {"cpu": 1.5}},
    "exponent": {"requests": {"memory": "1e9"}},
    "bytes": {"requests": {"memory": "1073741824"}},
    "no claims": {"requests": {"cpu": "1"}, "claims": []},
    "only no claims": {"claims": []},
    "part of a thousandth": {"requests": {"cpu": "500u"}, "limits": {"cpu": "0.0005"}},
    "more than thousandths": {"requests": {"cpu": "1.0001"}, "limits": {"cpu": 1.5000001}},
    "part of a byte": {"requests": {"memory": "1.5"}, "limits": {"memory": "2000000001n"}},
    "nothing": {},
    "empty": {"requests": {}, "limits": {}, "claims": []},
}


def manifest(namespace: str, resources: Json, size: str = "1Gi") -> Json:
    made = stateful_set(namespace, size)
    spec = made["spec"]["template"]["spec"]
    spec["containers"][0]["resources"] = resources
    spec["volumes"] = [{"name": "scratch", "emptyDir": {"sizeLimit": size}}]
    return made


@pytest.fixture(scope="module")
def writer(fake_testbed: Any) -> Writer:
    """Writes as an administrator."""
    session = open_session({"kubeconfig": str(fake_testbed.kubeconfig)})
    return Writer(session=session, field_manager="tests")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spelling_of_resources(writer: Writer, fake_namespace: str, spelling: str) -> None:
    wanted = manifest(fake_namespace, SPELLINGS[spelling])
    live = writer.apply(wanted).after
    assert live is not None
    assert writer.is_in_place(wanted, live), live["metadata"]["managedFields"]


@pytest.mark.parametrize("size", ["1024Mi", "0.5Gi", "1e9", "1000M", "1000.0001"])
def test_spelling_of_sizes(writer: Writer, fake_namespace: str, size: str) -> None:
    """Of claims in templates, which belong to one manager as a whole, and of scratch space."""
    wanted = manifest(fake_namespace, {}, size)
    live = writer.apply(wanted).after
    assert live is not None
    assert writer.is_in_place(wanted, live), live["metadata"]["managedFields"]


SELECTORS: dict[str, Json] = {
    "no expressions": {"matchLabels": {"app": "x"}, "matchExpressions": []},
    "only no expressions": {"matchExpressions": []},
    "nothing": {},
}


@pytest.mark.parametrize("spelling", SELECTORS)
def test_spelling_of_selectors(writer: Writer, fake_namespace: str, spelling: str) -> None:
    """They belong to one manager as a whole, and the server leaves empty lists out."""
    wanted = manifest(fake_namespace, {})
    spread = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": SELECTORS[spelling],
    }
    wanted["spec"]["template"]["spec"]["topologySpreadConstraints"] = [spread]
    live = writer.apply(wanted).after
    assert live is not None
    assert writer.is_in_place(wanted, live), live["metadata"]["managedFields"]
    spread["labelSelector"] = {"matchLabels": {"app": "y"}}
    assert not writer.is_in_place(wanted, live)


def test_another_value_is_not_in_place(writer: Writer, fake_namespace: str) -> None:
    live = writer.apply(manifest(fake_namespace, {"requests": {"cpu": "1000m"}})).after
    assert live is not None
    for resources in (
        {"requests": {"cpu": "1001m"}},
        {"requests": {"cpu": "1.0001"}},
        {"limits": {"cpu": "1"}},
        {"claims": []},
        {},
    ):
        assert not writer.is_in_place(manifest(fake_namespace, resources), live)
    changed = manifest(fake_namespace, {"requests": {"cpu": "1"}}, "2Gi")
    assert not writer.is_in_place(changed, live)
