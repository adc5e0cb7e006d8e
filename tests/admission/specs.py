# SPDX-License-Identifier: Apache-2.0
"""Specs at random out of the CRDs' schemas: mostly right, at times a little off."""

from typing import Any

import yaml
from hypothesis import strategies as st

from tests.golden.variants import OVERLAY
from tests.support.places import ROOT

Json = dict[str, Any]
Strategy = st.SearchStrategy[Any]

_PRESENT = 4
"""One of so many fields that may be left out is there."""
_TEXTS: dict[str, list[Any]] = {
    "version": ["1.3.0", "2.0.0", "v3.0.16-bda2d138a-2026-06-24", "nightly"],
    "semanticVersion": ["1.3.0", "2.1", " v3.0.0 "],
    "operatorVersion": ["1.2.0", "1.3.0", "1.0"],
    "image": ["registry.example/matrixone:1.3.0", "matrixone", "m:1.2.3-x", "Matrix One"],
    "imageRepository": ["registry.example:5000/team/matrixone", "mo"],
    "name": ["tp", "ap", "a1", "x-y", "a.b", "Upper"],
    "path": ["bucket", "bucket/prefix", "/var/lib/shared", "bucket/a/b/"],
    "endpoint": ["http://minio.default:9000", "https://s3.example"],
    "region": ["eu-west-1", "cn-north-1", ""],
    "config": ["", '[log]\nlevel = "debug"\n', "[cn]\nx = 1\n", "[broken"],
    "haKeeperEndpoint": ["hakeeper.example:32001"],
    "storageClassName": ["fast", "slow.example", "Not A Name"],
    "clusterDomain": ["cluster.local", "cluster.example."],
    "mountPath": ["/scratch", "/data", "relative"],
    "topologySpread[]": ["zone", "topology.kubernetes.io/zone", "not a key!"],
    "nodeSelector{}": ["ssd", "", "not a value!"],
    "podLabels{}": ["a", "", "not a value!"],
    "key": ["workload", "a/b", "x"],
    "values[]": ["tp", "ap"],
    "files[]": ["ca.crt", "more.pem"],
    "serviceArgs[]": ["-debug-http=:6060", "--x"],
    "podManagementPolicy": ["", "Pooling"],
    "waitPluginAddr": ["", "plugin.example:50051"],
    "failedPodStrategy": ["Delete", "Orphan"],
    "restoreFrom": ["hk_data", "backup/1"],
    "request": [""],
    "to": ["3.0.18", "4.2.0"],
}
_QUANTITIES = ["1Gi", "512Mi", "1.5", "100m", "2", 3, "90Gi", "1e9", "0", "-1", "0.5Gi"]
_KEYS = ["disk", "example.com/kind", "team", "not a key!"]
_EDGES: dict[str, list[Any]] = {
    "tolerations": [{"key": "a"}, {"operator": "Exists"}, {"key": "a", "operator": "Never"}],
    "env": [{"name": "A", "value": "b"}, {"name": "A"}, {"name": "1 2"}, {"value": "x"}],
    "volumes": [{"name": "scratch"}, {"name": "Scratch", "emptyDir": {}}],
    "volumeMounts": [{"name": "scratch", "mountPath": "/a"}, {"name": "nowhere", "mountPath": "/"}],
    "imagePullSecrets": [{"name": "pull"}, {}],
    "hostAliases": [{"ip": "::1", "hostnames": ["a"]}, {"ip": "no"}],
}


def spec_of(kind: str) -> Strategy:
    """Return a strategy for specs of a kind of ours, as a user would write them."""
    file = ROOT / "crds" / f"core.matrixorigin.io_{kind.lower()}s.yaml"
    definition = yaml.safe_load(file.read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return _value(schema["properties"]["spec"], "spec")


def _value(schema: Json, name: str) -> Strategy:
    if schema.get("enum"):
        return st.sampled_from(schema["enum"])
    if name in _EDGES.keys() | OVERLAY.keys() and _is_open(schema):
        return _known(name, schema)
    if schema.get("x-kubernetes-int-or-string"):
        return _scalar_or_text(schema)
    makers = {"object": _object, "array": _array, "boolean": _flag, "integer": _number}
    return makers.get(str(schema.get("type")), _text)(schema, name)


def _array(schema: Json, name: str) -> Strategy:
    fewest = schema.get("minItems", 0)
    is_set = schema.get("x-kubernetes-list-type") == "set"
    items = _value(schema["items"], f"{name}[]")
    return st.lists(items, min_size=fewest, max_size=2, unique=is_set)


def _flag(_schema: Json, _name: str) -> Strategy:
    return st.booleans()


def _number(schema: Json, _name: str) -> Strategy:
    low = int(schema.get("minimum", 0))
    return st.integers(low, max(low, min(int(schema.get("maximum", low + 6)), low + 6)))


def _is_open(schema: Json) -> bool:
    items = schema.get("items") or schema
    return bool(items.get("x-kubernetes-preserve-unknown-fields"))


def _known(name: str, schema: Json) -> Strategy:
    """Return a part of a Pod: right as a rule, and at times not."""
    right = [OVERLAY[name]] if name in OVERLAY else []
    if schema.get("type") == "array":
        off = [[one] for one in _EDGES.get(name, [])]
        return st.sampled_from([*right * 3, *off, []])
    return st.sampled_from(right)


def _object(schema: Json, name: str) -> Strategy:
    properties = schema.get("properties")
    if properties:
        return st.composite(_drawn)(schema, properties)
    inner = schema.get("additionalProperties")
    if isinstance(inner, dict):
        keys = st.sampled_from(["cpu", "memory"] if name in {"requests", "limits"} else _KEYS)
        return st.dictionaries(keys, _value(inner, f"{name}{{}}"), max_size=2)
    return st.just({"emptyDir": {}} if name == "volume" else {})


def _drawn(draw: Any, schema: Json, properties: Json) -> Json:
    required = set(schema.get("required") or ())
    made = {}
    for key, inner in properties.items():
        if key in required or draw(st.integers(0, _PRESENT - 1)) == 0:
            made[key] = draw(_value(inner, key))
    return made


def _scalar_or_text(schema: Json) -> Strategy:
    if "%" in str(schema.get("pattern") or schema.get("anyOf") or ""):
        return st.sampled_from([0, 1, 2, "25%", "0%"])
    return st.sampled_from(_QUANTITIES)


def _text(schema: Json, name: str) -> Strategy:
    pattern = str(schema.get("pattern") or "")
    if "ns|us" in pattern:
        return st.sampled_from(["10m", "30s", "1h30m", "0", "500ms"])
    if "%" in pattern:
        return st.sampled_from(["25%", "0%"])
    return st.sampled_from(_TEXTS.get(name, ["some", "other", "a-b"]))
