# SPDX-License-Identifier: Apache-2.0
"""Whatever stands in a resource, rendering ends: with manifests, or with a field to correct.

A resource that takes down the process of all others was the worst habit of older operators.
"""

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.types import References
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.variants import EVERYTHING, OVERLAY
from tests.support import resources as r

SCRIPTS = dict.fromkeys(("logset", "dnset", "cnset", "proxyset"), r.SCRIPT)
FULL = {
    "overlay": OVERLAY,
    "cacheVolume": {"size": "1Gi", "storageClassName": "x"},
    "sharedStorageCache": {"memoryCacheSize": "1Gi", "diskCacheSize": "1Gi"},
    "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1Gi"}},
    "memoryLimitPercent": 50,
    "memoryFsSize": "1Gi",
    "clusterDomain": "example",
    "config": {"cn": {"x": 1}, "fileservice": [{"name": "S3"}]},
    "nodeSelector": {"a": "b"},
    "topologySpread": ["zone"],
    "serviceArgs": ["-x"],
    "exportToPrometheus": True,
    "promDiscoveryScheme": "Pod",
    "semanticVersion": "1.2.3",
    "operatorVersion": "1.3.0",
    "podDisruptionBudget": {"enabled": True, "maxUnavailable": 1},
    "networkPolicy": {"enabled": True},
    "allowedNamespaces": ["a"],
    "dnsBasedIdentity": True,
    "serviceType": "LoadBalancer",
    "nodePort": 30000,
    "externalTrafficPolicy": "Local",
    "loadBalancerClass": "a/b",
    "loadBalancerSourceRanges": ["192.0.2.0/24"],
    "serviceAnnotations": {"a": "b"},
    "updateStrategy": {"maxSurge": 1, "maxUnavailable": 1},
    "minReadySeconds": 1,
}
CN = {
    "pythonUdfSidecar": {"enabled": True, "port": 1, "image": "i", "overlay": OVERLAY},
    "cnLabels": [{"key": "a", "values": ["b"]}],
    "scalingConfig": {"storeDrainEnabled": True, "storeDrainTimeout": "5m", "minDelaySeconds": 1},
    "podManagementPolicy": "Pooling",
    "role": "TP",
}
LOG = {
    "initialConfig": {"logShards": 1, "dnShards": 1, "logShardReplicas": 3, "restoreFrom": "x"},
    "pvcRetentionPolicy": "Retain",
    "sharedStorage": {"s3": {"certificateRef": {"name": "a", "files": ["b"]}, "region": "c"}},
}
SUBJECTS = [
    r.logset(**FULL, **LOG),
    r.logset(
        sharedStorage={
            "s3": r.DELETE,
            "fileSystem": {"path": "/a", "claim": {"size": "1Gi", "accessModes": ["x"]}},
        }
    ),
    r.dnset(**FULL),
    r.cnset(**FULL, **CN),
    r.cnset({"externalLogSet": {"haKeeperEndpoint": "a:1", "sharedStorage": {"s3": r.S3}}}),
    r.proxyset(**FULL, waitPluginAddr="a:1"),
    r.webui(**FULL, image="a:b", credentialSecretRef={"name": "a"}),
    r.cluster(**EVERYTHING),
    r.early(**r.EARLY_FULL),
]
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 2**40),
        st.floats(allow_nan=False, allow_infinity=False),
        st.sampled_from(
            ["", "x", "1Gi", "0", "a:b", ",", "= 1", "[cn]", "[[cn]]\n[[fileservice]]"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["name", "metadata", "key", "x"]), inner, max_size=2),
    ),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places(inner, (*path, key))


def replaced(subject: r.Json, path: tuple[Any, ...], value: Any) -> r.Json:
    """Return a copy with another value at a path."""
    changed = copy.deepcopy(subject)
    target: Any = changed
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return changed


def ends_well(subject: r.Json) -> None:
    """Render; anything but manifests or an InvalidSpec is a failure."""
    references = References(logSet=r.logset(), cnSet=r.cnset())
    with contextlib.suppress(InvalidSpec):
        found = render_everything(subject, start_scripts=SCRIPTS, references=references)
        assert json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s["kind"])
def test_subjects_are_valid(subject: r.Json) -> None:
    references = References(logSet=r.logset(), cnSet=r.cnset())
    assert render_everything(subject, start_scripts=SCRIPTS, references=references)


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_any_value_anywhere_ends_well(data: st.DataObject) -> None:
    subject = data.draw(st.sampled_from(SUBJECTS))
    path = data.draw(st.sampled_from(list(places(subject))))
    ends_well(replaced(subject, path, data.draw(JSON)))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s["kind"])
@pytest.mark.parametrize("value", [None, True, 5, "x", [], {}, [None], {"x": None}], ids=repr)
def test_every_field_takes_every_type(subject: r.Json, value: Any) -> None:
    for path in places(subject):
        ends_well(replaced(subject, path, value))
