# SPDX-License-Identifier: Apache-2.0
"""An API server in memory, behind the interface of the collection's session.

It has what the collection relies on: versions and generations, server-side apply with owners of
fields, merge patches, preconditions, finalizers, selectors, the status subresource, and the
structural schemas of the CRDs. Every answer is a copy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (  # noqa: E501
    error_from_answer,
)

from faults.simulation.definitions import admitted, definitions, mistakes
from faults.simulation.objects import (
    applied,
    body_of,
    copied,
    disowned,
    fields_of,
    merge_patched,
)

Json = dict[str, Any]
Key = tuple[str, str, str, str]
"""Group and version, plural, namespace, name."""
_BEGINNING = datetime(2026, 12, 1, 12, tzinfo=UTC).timestamp()
_APPLY = "application/apply-patch+yaml"
_PATH = re.compile(
    r"/(?:api|apis)/(?P<version>v1|[^/]+/[^/]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"(?:/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>status|scale))?)?)?"
)
_BUILT_IN: Mapping[str, Mapping[str, tuple[str, bool]]] = {
    "v1": {
        "ConfigMap": ("configmaps", True),
        "Event": ("events", True),
        "Namespace": ("namespaces", False),
        "Node": ("nodes", False),
        "PersistentVolume": ("persistentvolumes", False),
        "PersistentVolumeClaim": ("persistentvolumeclaims", True),
        "Pod": ("pods", True),
        "Secret": ("secrets", True),
        "Service": ("services", True),
        "ServiceAccount": ("serviceaccounts", True),
        "ResourceQuota": ("resourcequotas", True),
        "LimitRange": ("limitranges", True),
    },
    "apps/v1": {
        "ControllerRevision": ("controllerrevisions", True),
        "Deployment": ("deployments", True),
        "ReplicaSet": ("replicasets", True),
        "StatefulSet": ("statefulsets", True),
    },
    "batch/v1": {"Job": ("jobs", True)},
    "events.k8s.io/v1": {"Event": ("events", True)},
    "networking.k8s.io/v1": {"NetworkPolicy": ("networkpolicies", True)},
    "policy/v1": {"PodDisruptionBudget": ("poddisruptionbudgets", True)},
    "rbac.authorization.k8s.io/v1": {
        "Role": ("roles", True),
        "RoleBinding": ("rolebindings", True),
    },
    "storage.k8s.io/v1": {"StorageClass": ("storageclasses", False)},
    "coordination.k8s.io/v1": {"Lease": ("leases", True)},
}


def served() -> dict[str, dict[str, tuple[str, bool]]]:
    """Return plural and scope of each kind, by group and version."""
    found = {version: dict(kinds) for version, kinds in _BUILT_IN.items()}
    for one in definitions().values():
        found.setdefault(one.group_version, {})[one.kind] = (one.plural, one.is_namespaced)
    return found


@dataclass(frozen=True)
class Snapshot:
    """What was there at some time.

    Attributes:
        objects: as the server has them.
        fields: who owned which of their fields.
    """

    objects: dict[Key, Json]
    fields: dict[Key, dict[tuple[str, str], Json]]


class ApiServer:
    """Objects, and who owns which of their fields.

    Attributes:
        version: of the last write.
        present: Unix time of all clocks.
        objects: by group and version, plural, namespace and name.
        validates: whether objects of our kinds must fit their schemas.
        created: where an object was created, in order.
        removed: where one went, in order.
    """

    def __init__(self) -> None:
        self.version = 0
        self.present = _BEGINNING
        self.objects: dict[Key, Json] = {}
        self.validates = True
        self.created: list[Key] = []
        self.removed: list[Key] = []
        self._fields: dict[Key, dict[tuple[str, str], Json]] = {}
        self._uids = itertools.count(1)
        self._kinds = {
            (version, plural): kind
            for version, kinds in served().items()
            for kind, (plural, _namespaced) in kinds.items()
        }
        self._plurals = {(version, kind): plural for (version, plural), kind in self._kinds.items()}

    # Requests

    def answer(
        self, method: str, path: str, query: Mapping[str, str], body: Any, content_type: str
    ) -> Json:
        """Answer a request.

        Raises:
            ApiError: as the server would refuse it.
        """
        match = _PATH.fullmatch(path)
        if match is None:
            raise refusal(404, "NotFound", f"the path {path} is not served")
        version, namespace = match["version"], match["namespace"] or ""
        if match["plural"] is None:
            return self._discovered(version)
        if (version, match["plural"]) not in self._kinds:
            raise refusal(404, "NotFound", "the server could not find the requested resource")
        key = (version, match["plural"], namespace, match["name"] or "")
        if match["name"] is None:
            return self._list(key, query) if method == "GET" else self._create(key, body)
        if method == "GET":
            return self._out(key, self._live(key))
        if method == "DELETE":
            return self._delete(key, body or {})
        is_apply = content_type == _APPLY
        change = self._apply if is_apply else self._merge if method == "PATCH" else self._replace
        return change(key, match["sub"] or "", body, query.get("fieldManager", "unknown"))

    def _discovered(self, version: str) -> Json:
        kinds = served().get(version)
        if kinds is None:
            raise refusal(404, "NotFound", f"{version} is not served")
        return {
            "resources": [
                {"kind": kind, "name": plural, "namespaced": namespaced}
                for kind, (plural, namespaced) in kinds.items()
            ]
        }

    def _list(self, key: Key, query: Mapping[str, str]) -> Json:
        chosen = [
            self._out(one, found)
            for one, found in self.objects.items()
            if one[:2] == key[:2] and key[2] in {"", one[2]} and selects(query, found)
        ]
        return {"metadata": {"resourceVersion": str(self.version)}, "items": chosen}

    def _create(self, key: Key, body: Json) -> Json:
        metadata = body.get("metadata") or {}
        name = metadata.get("name") or f"{metadata['generateName']}{next(self._uids)}"
        target = (*key[:2], key[2] or metadata.get("namespace", ""), name)
        if target in self.objects:
            raise refusal(409, "AlreadyExists", f"{key[1]} {name} already exists")
        return self._out(target, self._store(target, {}, body))

    def _apply(self, key: Key, sub: str, body: Json, manager: str) -> Json:
        owners = self._fields.get(key, {})
        before = owners.get((manager, sub), {})
        wanted = body_of(body)
        shared: Json = {}
        for who, fields in owners.items():
            if who != (manager, sub):
                shared = merge_patched(shared, fields)
        live = self.objects.get(key)
        if live is None:
            if sub:
                raise refusal(404, "NotFound", f"{key[1]} {key[3]} not found")
            live = {}
        _require_seen(key, live, body)
        after = applied(live, disowned(before, {}, shared), wanted)
        stored = self._store(key, live, after)
        self._fields[key] = {
            who: disowned(fields, live, stored) if live else fields
            for who, fields in owners.items()
        } | {(manager, sub): wanted}
        return self._out(key, stored)

    def _merge(self, key: Key, sub: str, body: Json, manager: str) -> Json:
        del sub, manager
        live = self._live(key)
        return self._change(key, live, merge_patched(live, body), body)

    def _replace(self, key: Key, sub: str, body: Json, manager: str) -> Json:
        del sub, manager
        return self._change(key, self._live(key), body, body)

    def _change(self, key: Key, live: Json, after: Json, body: Json) -> Json:
        _require_seen(key, live, body)
        stored = self._store(key, live, after)
        self._fields[key] = {
            who: disowned(fields, live, stored) for who, fields in self._fields.get(key, {}).items()
        }
        if stored["metadata"].get("deletionTimestamp"):
            self._go(key, stored)
        return self._out(key, stored)

    def _delete(self, key: Key, options: Json) -> Json:
        live = self._live(key)
        asked = options.get("preconditions") or {}
        for field in ("uid", "resourceVersion"):
            if asked.get(field) and asked[field] != live["metadata"][field]:
                raise refusal(409, "Conflict", f"the {field} in the precondition differs")
        if options.get("propagationPolicy") == "Orphan":
            self._orphan(live["metadata"]["uid"])
        takes_time = key[1] == "pods" and options.get("gracePeriodSeconds") != 0
        if takes_time or live["metadata"].get("finalizers"):
            if not live["metadata"].get("deletionTimestamp"):
                metadata = {**live["metadata"], "deletionTimestamp": self.timestamp()}
                live = self._store(key, live, {**live, "metadata": metadata})
            return self._out(key, live)
        self.remove(key)
        return {"status": "Success"}

    # What is stored

    def _live(self, key: Key) -> Json:
        found = self.objects.get(key)
        if found is None:
            raise refusal(404, "NotFound", f'{key[1]} "{key[3]}" not found')
        return found

    def _store(self, key: Key, live: Json, after: Json) -> Json:
        """Store an object; one that is as it was keeps its version."""
        after = self._admitted(key, copied(after))
        metadata = after.setdefault("metadata", {})
        metadata.pop("managedFields", None)
        if not live:
            created = {"uid": f"uid-{next(self._uids)}", "creationTimestamp": self.timestamp()}
            metadata.update(name=key[3], **created, generation=1)
            self.created.append(key)
            if key[2]:
                metadata["namespace"] = key[2]
        else:
            for field in ("uid", "creationTimestamp", "generation", "resourceVersion"):
                metadata[field] = live["metadata"][field]
            if _content(live) != _content(after):
                metadata["generation"] = live["metadata"]["generation"] + 1
            if after == live:
                return live
        self.version += 1
        metadata["resourceVersion"] = str(self.version)
        self.objects[key] = after
        return after

    def _admitted(self, key: Key, found: Json) -> Json:
        kind = self._kinds[key[:2]]
        found["apiVersion"], found["kind"] = key[0], kind
        definition = definitions().get(kind)
        if definition is None or definition.group_version != key[0]:
            return found
        stored: Json = admitted(definition.schema, {**found, "metadata": {}})
        stored["metadata"] = found.get("metadata") or {}
        wrong = list(mistakes(definition.schema, {**stored, "metadata": {}}))
        if wrong and self.validates:
            causes = [{"field": one.partition(":")[0].lstrip("."), "message": one} for one in wrong]
            raise refusal(422, "Invalid", f"{kind} is invalid: {'; '.join(wrong[:5])}", causes)
        return stored

    def _out(self, key: Key, found: Json) -> Json:
        answer: Json = copied(found)
        entries = [
            {
                "manager": manager,
                "operation": "Apply",
                "apiVersion": key[0],
                "fieldsType": "FieldsV1",
                "fieldsV1": fields_of(body),
                **({"subresource": sub} if sub else {}),
            }
            for (manager, sub), body in self._fields.get(key, {}).items()
            if body
        ]
        if entries:
            answer["metadata"]["managedFields"] = entries
        return answer

    def remove(self, key: Key) -> None:
        """Take an object away at once."""
        self.version += 1
        self.removed.append(key)
        del self.objects[key]
        self._fields.pop(key, None)

    def _go(self, key: Key, live: Json) -> None:
        if not live["metadata"].get("finalizers") and key[1] != "pods":
            self.remove(key)

    def _orphan(self, uid: str) -> None:
        for key, found in list(self.objects.items()):
            owners = found["metadata"].get("ownerReferences") or []
            left = [one for one in owners if one["uid"] != uid]
            if len(left) < len(owners):
                metadata = {**found["metadata"], "ownerReferences": left}
                self.change(key, {**found, "metadata": metadata})

    # Views of the past

    def snapshot(self) -> Snapshot:
        """Return what is there now, to be looked at later; what is stored is never changed."""
        return Snapshot(dict(self.objects), dict(self._fields))

    def answer_from(self, past: Snapshot, path: str, query: Mapping[str, str]) -> Json:
        """Answer a read as it would have been answered then.

        Raises:
            ApiError: the object was not there.
        """
        present = self.snapshot()
        self.objects, self._fields = past.objects, past.fields
        try:
            return self.answer("GET", path, query, None, "")
        finally:
            self.objects, self._fields = present.objects, present.fields

    # For what is not a request: controllers, users, tests

    def key(self, api_version: str, kind: str, namespace: str, name: str) -> Key:
        """Return where an object is."""
        return api_version, self._plurals[(api_version, kind)], namespace, name

    def of_kind(self, kind: str) -> Iterator[tuple[Key, Json]]:
        """Yield the objects of a kind as they are stored, not to be changed."""
        for key, found in list(self.objects.items()):
            if self._kinds[key[:2]] == kind:
                yield key, found

    def update(self, key: Key, change: Callable[[Json], Any]) -> None:
        """Change an object as a controller does: whatever it changes is its own."""
        live = self.objects.get(key)
        if live is not None:
            after = copied(live)
            change(after)
            self.change(key, after)

    def change(self, key: Key, after: Json) -> Json:
        """Store an object that exists as it is to be."""
        return self._change(key, self._live(key), after, {})

    def delete(self, key: Key) -> None:
        """Delete an object as a user does: what depends on it follows."""
        self._delete(key, {"propagationPolicy": "Background"})

    def read(self, key: Key) -> Json:
        """Return an object as a request gets it."""
        return self._out(key, self._live(key))

    def add(self, manifest: Mapping[str, Any]) -> Json:
        """Create an object."""
        metadata = manifest["metadata"]
        place = (manifest["apiVersion"], manifest["kind"], metadata.get("namespace", ""))
        return self._create(self.key(*place, metadata["name"]), copied(dict(manifest)))

    def timestamp(self) -> str:
        """Return the present as this server writes it."""
        moment = datetime.fromtimestamp(self.present, UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _require_seen(key: Key, live: Json, body: Json) -> None:
    """Refuse a write of which the author has seen another version of the object.

    Raises:
        ApiError: it names that version.
    """
    asked = (body.get("metadata") or {}).get("resourceVersion")
    if asked and asked != (live.get("metadata") or {}).get("resourceVersion"):
        raise refusal(409, "Conflict", f"{key[1]} {key[3]} has been modified")


def refusal(status: int, reason: str, message: str, causes: Any = ()) -> Exception:
    """Return the error that a client makes of an answer."""
    body = {
        "kind": "Status",
        "reason": reason,
        "message": message,
        "details": {"causes": [*causes]},
    }
    return error_from_answer("request", status, body)


def selects(query: Mapping[str, str], found: Mapping[str, Any]) -> bool:
    """Tell whether the label selector of a request selects an object."""
    labels = found["metadata"].get("labels") or {}
    text = query.get("labelSelector", "")
    return all(_matches(part.strip(), labels) for part in re.split(r",(?![^(]*\))", text) if part)


def _matches(part: str, labels: Mapping[str, str]) -> bool:
    if listed := re.fullmatch(r"(\S+) (in|notin) \((.*)\)", part):
        inside = labels.get(listed[1]) in listed[3].split(",")
        return inside == (listed[2] == "in")
    if "!=" in part:
        name, _, value = part.partition("!=")
        return labels.get(name) != value
    if "=" in part:
        name, _, value = part.replace("==", "=").partition("=")
        return labels.get(name) == value
    return part.lstrip("!") not in labels if part.startswith("!") else part in labels


def _content(found: Mapping[str, Any]) -> Json:
    return {name: one for name, one in found.items() if name not in {"metadata", "status"}}
