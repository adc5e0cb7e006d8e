# SPDX-License-Identifier: Apache-2.0
"""Every field of every kind, from the schemas of the CRDs, and values to put there.

A path has the names of fields; ``[]`` stands for an element of a list, ``{}`` for an entry of an
object whose keys users choose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from faults.simulation.definitions import definitions
from faults.simulation.objects import copied, merge_patched
from tests.golden.variants import OVERLAY

Json = dict[str, Any]
Path = tuple[str, ...]
ELEMENT, ENTRY = "[]", "{}"
_KEY = "example.com/team"
_TEXTS: Mapping[str, tuple[Any, ...]] = {
    "version": ("2.0.1", "2.0.2"),
    "semanticVersion": ("2.0.0", "2.0.1"),
    "operatorVersion": ("1.3.0", "1.2.0"),
    "image": ("registry.example/matrixone:2.0.1", "registry.example/matrixone:2.0.2"),
    "imageRepository": ("registry.example:5000/team/matrixone", "matrixorigin/matrixone"),
    "name": ("tp", "ap"),
    "path": ("bucket/prefix", "bucket/other"),
    "endpoint": ("http://minio.default:9000", "https://s3.example"),
    "region": ("eu-west-1", "cn-north-1"),
    "config": ('[log]\nlevel = "debug"\n', '[log]\nlevel = "info"\n'),
    "haKeeperEndpoint": ("hakeeper.example:32001", "other.example:32001"),
    "storageClassName": ("fast", "slow"),
    "storageClass": ("fast", "slow"),
    "clusterDomain": ("cluster.local", "cluster.example"),
    "mountPath": ("/scratch", "/other"),
    "nodeSelector{}": ("ssd", "hdd"),
    "podLabels{}": ("a", "b"),
    "topologySpread[]": ("topology.kubernetes.io/zone", "kubernetes.io/hostname"),
    "files[]": ("ca.crt", "more.pem"),
    "serviceArgs[]": ("-debug-http=:6060", "-debug-http=:6061"),
    "waitPluginAddr": ("plugin.example:50051", "other.example:50051"),
    "restoreFrom": ("backup", "other"),
    "schedule": ("0 3 * * *", "30 4 * * 1"),
    "timeZone": ("Europe/Berlin", "Asia/Shanghai"),
    "loadBalancerClass": ("lb.example/fast", "lb.example/slow"),
    "loadBalancerSourceRanges[]": ("192.0.2.0/24", "198.51.100.0/24"),
    "from": ("07:30", "08:00"),
    "to": ("18:00", "19:00"),
    "podName": ("shared-0", "shared-1"),
    "raw": ("{}", '{"formatVersion":1}'),
    "atTime": ("2026-11-22T18:10:00Z", "2026-11-22T19:10:00Z"),
    "accessModes[]": ("ReadWriteMany", "ReadWriteOnce"),
}  # fmt: skip
_BESIDE: Mapping[str, Json] = {
    "nodePort": {"serviceType": "NodePort"},
    "externalTrafficPolicy": {"serviceType": "LoadBalancer"},
    "loadBalancerClass": {"serviceType": "LoadBalancer"},
    "loadBalancerSourceRanges": {"serviceType": "LoadBalancer"},
    "externalLogSet": {"logSet": None},
    "s3": {"fileSystem": None},
    "fileSystem": {"s3": None},
}
"""What rules in CEL require beside a field, as a merge patch of the object around it."""
_STORAGE: Json = {"s3": {"path": "bucket/prefix"}}
_OBJECTS: Mapping[str, Json] = {
    "sharedStorage": _STORAGE,
    "externalLogSet": {
        "haKeeperEndpoint": "hakeeper.example:32001",
        "sharedStorage": _STORAGE,
    },
}
"""Objects that are not valid with what their schema requires alone."""
_QUANTITIES = ("1Gi", "2Gi")
_DURATIONS = ("10m", "1h30m")


@dataclass(frozen=True)
class Field:
    """A field of a kind.

    Attributes:
        kind: of the resource.
        path: from its root.
        schema: of its value.
        is_fixed: whether a rule in CEL, which only a real API server reads, compares it, or what
            it is a part of, with its value before.
    """

    kind: str
    path: Path
    schema: Json
    is_fixed: bool

    @property
    def name(self) -> str:
        """Its path as one word."""
        return ".".join(self.path)


@cache
def fields_of(kind: str) -> Mapping[str, Field]:
    """Return the fields that users write of a kind, by path."""
    definition = definitions()[kind]
    found = {}
    for part in definition.parts:
        schema = definition.schema["properties"][part]
        for field in _walk(kind, schema, (part,), is_fixed=False):
            found[field.name] = field
    return found


def _walk(kind: str, schema: Json, path: Path, *, is_fixed: bool) -> Iterator[Field]:
    yield Field(kind, path, schema, is_fixed)
    properties = schema.get("properties") or {}
    inner = {**properties}
    if isinstance(schema.get("additionalProperties"), dict):
        inner[ENTRY] = schema["additionalProperties"]
    if "items" in schema:
        inner[ELEMENT] = schema["items"]
    for name, one in inner.items():
        fixed = is_fixed or _fixes(schema, name) or _fixes(one, "")
        yield from _walk(kind, one, (*path, name), is_fixed=fixed)


def _fixes(schema: Mapping[str, Any], name: str) -> bool:
    """Tell whether a rule about changes mentions a field; with no name, whether it is about all."""
    rules = [rule["rule"] for rule in schema.get("x-kubernetes-validations") or ()]
    about = [rule for rule in rules if "oldSelf" in rule]
    if not name:
        return any("self == oldSelf" in rule for rule in about)
    return any(re.search(rf"\b{re.escape(name)}\b", rule) for rule in about)


def valid_values(field: Field) -> list[Any]:
    """Return values that a field may have by its schema; the first two as different as can be."""
    return _values(field.schema, _label(field.path))


def _label(path: Path) -> str:
    """Return the last name of a path, with the brackets that follow it."""
    last = len(path) - 1
    while path[last] in {ELEMENT, ENTRY}:
        last -= 1
    return "".join(path[last:])


def _values(schema: Json, label: str) -> list[Any]:
    if schema.get("enum"):
        return [one for one in schema["enum"] if one != ""] or list(schema["enum"])
    if label in OVERLAY and _is_open(schema):
        return [copied(OVERLAY[label])]
    if schema.get("x-kubernetes-int-or-string"):
        shares = "%" in str(schema.get("pattern") or schema.get("anyOf") or "")
        return [1, 2, "50%"] if shares else list(_QUANTITIES)
    make = _MAKERS.get(str(schema.get("type")), _texts)
    return make(schema, label)


def _flags(_schema: Json, _label: str) -> list[Any]:
    return [True, False]


def _numbers(schema: Json, _label: str) -> list[Any]:
    low = int(schema.get("minimum", 1)) or 1
    return [low, min(low + 1, int(schema.get("maximum", low + 1)))]


def _lists(schema: Json, label: str) -> list[Any]:
    return [[one] for one in _values(schema.get("items") or {}, f"{label}{ELEMENT}")[:2]]


def _is_open(schema: Mapping[str, Any]) -> bool:
    items = schema.get("items") or schema
    return bool(items.get("x-kubernetes-preserve-unknown-fields"))


def _objects(schema: Json, label: str) -> list[Any]:
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        key = "memory" if label in {"requests", "limits"} else _KEY
        return [{key: one} for one in _values(extra, f"{label}{ENTRY}")[:2]]
    required = schema.get("required") or []
    if label in _OBJECTS:
        return [copied(_OBJECTS[label])]
    if label == "volume" and schema.get("minProperties"):
        return [{"nfs": {"server": "nfs.example", "path": "/a"}}]
    properties = schema.get("properties") or {}
    made = {name: _values(properties[name], name)[0] for name in required if name in properties}
    return [made]


def _is_absolute(schema: Mapping[str, Any]) -> bool:
    rules = [one["rule"] for one in schema.get("x-kubernetes-validations") or ()]
    return any(rule.startswith("self.matches('^(/") for rule in rules)


def _texts(schema: Json, label: str) -> list[Any]:
    pattern = str(schema.get("pattern") or "")
    if label == "path" and _is_absolute(schema):
        return ["/data/shared", "/data/other"]
    if label in _TEXTS:
        return list(_TEXTS[label])
    if "ns|us" in pattern or re.search(r"Timeout|Period|Delay|ttl|Age", label):
        return list(_DURATIONS)
    if "%" in pattern:
        return ["50%", "25%"]
    if re.search(r"[Ss]ize|memory|Cap$|[Mm]inFree|storage", label):
        return list(_QUANTITIES)
    return ["some", "other"]


_MAKERS: Mapping[str, Callable[[Json, str], list[Any]]] = {
    "boolean": _flags,
    "integer": _numbers,
    "number": _numbers,
    "array": _lists,
    "object": _objects,
}


def wrong_values(field: Field) -> dict[str, Any]:
    """Return what a person would mistype, and the bounds, by a word for each."""
    schema, label = field.schema, _label(field.path)
    valid = _values(schema, label)[0]
    found: dict[str, Any] = {"null": None, "text": "some", "number": 7, "flag": True}
    found |= {"list": [valid], "object": {"value": 1}, "empty-text": "", "negative": -1, "zero": 0}
    if isinstance(valid, str):
        found |= {
            "blank-after": f"{valid} ",
            "blank-before": f" {valid}",
            "upper": valid.upper(),
            "newline": f"{valid}\n",
            "slash": f"{valid}//x/../y",
            "template": "{{ lookup('pipe', 'id') }}",
            "unicode": f"{valid}\u202e\u0000é",
            "long": valid * 300,
        }
    if isinstance(valid, list):
        found |= {"empty-list": [], "twice": [*copied(valid), *copied(valid)], "null-in": [None]}
    if isinstance(valid, dict):
        found |= {"empty-object": {}, "misspelt": {**copied(valid), "mispelt": 1}}
    if schema.get("type") in {"integer", "number"}:
        found |= {"at-least": schema.get("minimum", 0), "huge": 2**62}
        found |= {"below": schema.get("minimum", 0) - 1, "fraction": 1.5}
        if "maximum" in schema:
            found |= {"at-most": schema["maximum"], "above": schema["maximum"] + 1}
    if "1Gi" in _values(schema, label):
        found |= {"unit": "1 GB", "tiny": "1m", "many-digits": "1" * 40 + "Gi", "exponent": "1e30"}
    return found


def with_value(resource: Json, field: Field, value: Any) -> Json:
    """Return a resource with a value at a field, and what has to be around it."""
    result: Json = copied(resource)
    _put(result, field, 0, value, definitions()[field.kind].schema)
    return result


def with_needs(resource: Json, field: Field) -> Json:
    """Return a resource with what rules in CEL require beside a field."""
    result: Json = copied(resource)
    value: Any = result
    for name in field.path:
        if isinstance(value, dict) and name in _BESIDE:
            patched = merge_patched(value, _BESIDE[name])
            value.clear()
            value.update(patched)
        value = _inside(value, name)
    return result


def without(resource: Json, field: Field) -> Json:
    """Return a resource without a field; what is around it stays."""
    result: Json = copied(resource)
    value: Any = result
    for name in field.path[:-1]:
        value = _inside(value, name)
        if value is None:
            return result
    last = field.path[-1]
    if last == ELEMENT:
        del value[0]
    elif isinstance(value, dict):
        value.pop(_KEY if last == ENTRY else last, None)
    return result


def has_value(resource: Json, field: Field) -> bool:
    """Tell whether a resource says something at a field."""
    value: Any = resource
    for name in field.path:
        value = _inside(value, name)
    return value is not None


def _inside(value: Any, name: str) -> Any:
    if name == ELEMENT:
        return value[0] if isinstance(value, list) and value else None
    if not isinstance(value, dict):
        return None
    return next(iter(value.values()), None) if name == ENTRY else value.get(name)


def _put(parent: Any, field: Field, depth: int, value: Any, schema: Json) -> None:
    """Set a value below a parent that is there; what is missing on the way is made valid."""
    name = field.path[depth]
    index: Any = name
    if name == ELEMENT:
        inner, index = schema["items"], 0
        if not parent:
            parent.append(None)
    elif name == ENTRY:
        inner, index = schema["additionalProperties"], next(iter(parent), _KEY)
    else:
        inner = schema["properties"][name]
    if depth == len(field.path) - 1:
        parent[index] = copied(value)
        return
    known = parent[index] if isinstance(parent, list) else parent.get(index)
    if not known:
        parent[index] = copied(_values(inner, _label(field.path[: depth + 1]))[0])
    _put(parent[index], field, depth + 1, value, inner)
