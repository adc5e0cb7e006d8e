# SPDX-License-Identifier: Apache-2.0
"""What must hold of a cluster at rest, and what of two clusters is compared."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from faults.points import Fault
from faults.simulation.objects import copied
from faults.simulation.world import World

Json = dict[str, Any]
_OWN = frozenset({"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"})
_NOT_COMPARED = frozenset({"Event", "Pod", "ReplicaSet", "PersistentVolume"})
"""Events are a log; the others are made by controllers from what is compared."""
_TIMES = frozenset(
    {
        "lastTransitionTime", "lastTransition", "observedGeneration", "startedAt", "startTime",
        "completionTime", "boundTime", "rotatedAt", "since", "deletionTimestamp", "uuid",
        "lookedAt",  # a digest of a record, which has times
        "dataVersion",  # the newest of which a node had time to start
    }
)  # fmt: skip


def state(world: World) -> dict[str, Json]:
    """Return all objects by kind and name, without what differs from run to run.

    ConfigMaps that former ReplicaSets of a Deployment use are left out: they are kept for as long
    as these, so that a rollback finds them. So are Jobs that remove themselves after their end.
    """
    former = _used_by_former(world)
    uids = {
        found["metadata"]["uid"]: f"<{found['kind']} {_UID.sub('<uid>', key[3])}>"
        for key, found in world.server.objects.items()
    }
    return {
        f"{found['kind']}/{key[2]}/{_named(key[3], uids)}": _comparable(found, uids)
        for key, found in world.server.objects.items()
        if found["kind"] not in _NOT_COMPARED
        and not (found["kind"] == "ConfigMap" and key[3] in former)
        and "ttlSecondsAfterFinished" not in found.get("spec", {})
    }


def _used_by_former(world: World) -> frozenset[str]:
    """Return the names of ConfigMaps that ReplicaSets use and no workload does."""
    present: set[str] = set()
    for kind in ("Deployment", "StatefulSet"):
        for _key, found in world.server.of_kind(kind):
            present |= _config_maps(found)
    former = (_config_maps(found) for _key, found in world.server.of_kind("ReplicaSet"))
    return frozenset(set().union(*former) - present)


def _config_maps(workload: Json) -> set[str]:
    """Return the ConfigMaps that the Pods of a workload mount."""
    volumes = workload["spec"]["template"]["spec"].get("volumes") or []
    sources = [one.get("configMap") for one in volumes]
    for one in volumes:
        sources += [
            part.get("configMap") for part in (one.get("projected") or {}).get("sources", ())
        ]
    return {str(source["name"]) for source in sources if source and "name" in source}


def _comparable(found: Json, uids: Mapping[str, str]) -> Json:
    result: Json = copied(found)
    result["metadata"] = {k: v for k, v in found["metadata"].items() if k not in _OWN}
    if found["kind"] == "Secret":
        # A password is drawn once for each cluster, and its version is the Secret's.
        result.pop("data", None)
        annotations = result["metadata"].get("annotations") or {}
        kept = {name: text for name, text in annotations.items() if name != _CREDENTIAL_ANNOTATION}
        result["metadata"] = {**result["metadata"], "annotations": kept}
    if found["kind"] in {"StatefulSet", "Deployment"}:
        # Which revision is counted from is bookkeeping of the controller.
        result.pop("status", None)
    return without_times(result, _TIMES, lambda text: _named(text, uids))


def without_times(found: Json, times: Collection[str], named: Callable[[str], str]) -> Json:
    """Return an object without what differs from run to run, the lists of its status sorted.

    Args:
        found: the object.
        times: names of fields to leave out.
        named: writes what is drawn in a text, such as uids, as what it is of.
    """
    stripped: Json = _stripped(found, times, named)
    if "status" in stripped:
        stripped["status"] = _unordered(stripped["status"])
    return stripped


def _unordered(value: Any) -> Any:
    """Sort the lists of a status: the order of those by age depends on which is there first."""
    if isinstance(value, dict):
        return {name: _unordered(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return sorted((_unordered(element) for element in value), key=str)
    return value


def _stripped(value: Any, times: Collection[str], named: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {
            named(name): _stripped(inner, times, named)
            for name, inner in value.items()
            if name not in times
        }
    if isinstance(value, list):
        return [_stripped(element, times, named) for element in value]
    return named(value) if isinstance(value, str) else value


_CREDENTIAL_ANNOTATION = "matrixorigin.io/credential-version"
_UID = re.compile(r"\buid-\d+\b")
_POD = re.compile(r"-[0-9a-f]{9}-[0-9a-f]{5}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d{8}-?\d{4,6}\b|\b\d{19}-\d\b")
_INCARNATION = re.compile(r'(?<="\d":)\d+|(?<=^\d )\d+', re.MULTILINE)


def _named(text: str, uids: Mapping[str, str]) -> str:
    """Write the uids in a text as what they are of, and Pods of Deployments by their Deployment.

    An incarnation of a log store that was never used is skipped, which is as good.
    """
    text = _TIME.sub("<time>", _INCARNATION.sub("n", _POD.sub("-<pod>", text)))
    return _UID.sub(lambda match: uids.get(match[0], "<gone>"), text)


def differences(one: Mapping[str, Json], other: Mapping[str, Json]) -> list[str]:
    """Return how a second state differs from a first, one line for each object or field."""
    found = [f"{name} is missing" for name in one if name not in other]
    found += [f"{name} is left over" for name in other if name not in one]
    for name in one:
        if name in other:
            found += [f"{name}: {line}" for line in _differing(one[name], other[name], "")]
    return found


def _differing(one: Any, other: Any, path: str) -> list[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        lines = []
        for name in dict.fromkeys([*one, *other]):
            lines += _differing(one.get(name), other.get(name), f"{path}.{name}")
        return lines
    if one == other:
        return []
    return [f"{path.lstrip('.')} was {str(one)[:200]!r}, is {str(other)[:200]!r}"]


def require_same(before: Mapping[str, Json], after: Mapping[str, Json], what: str) -> None:
    """Compare two states.

    Raises:
        Fault: they differ.
    """
    lines = differences(before, after)
    if lines:
        more = f"\n  and {len(lines) - 8} more" if len(lines) > 8 else ""
        raise Fault(f"{what}:\n  " + "\n  ".join(lines[:8]) + more)


def conditions(resource: Mapping[str, Any]) -> dict[str, Json]:
    """Return the conditions of a resource by type."""
    listed = (resource.get("status") or {}).get("conditions") or []
    return {one["type"]: one for one in listed}


def require_reported(world: World, kind: str, name: str) -> Json:
    """Require of a resource at rest that its status is about its present generation.

    Raises:
        Fault: it is not.
    """
    found = world.get(kind, name)
    if found is None:
        raise Fault(f"{kind} {name} is gone")
    status, generation = found.get("status") or {}, found["metadata"]["generation"]
    observed = status.get("observedGeneration", generation)
    if observed != generation:
        raise Fault(f"status.observedGeneration is {observed}, not {generation}")
    for condition in conditions(found).values():
        if condition.get("observedGeneration", generation) > generation:
            raise Fault(f"the condition {condition['type']} is ahead of the resource")
    if world.failures:
        raise Fault(f"a pass fails for ever: {next(iter(world.failures.values()))[:400]}")
    return found
