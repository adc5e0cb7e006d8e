# SPDX-License-Identifier: Apache-2.0
"""Which stores found the log service: decided once, recorded before creation.

The record is an annotation on the LogSet. Where there is no LogSet in the cluster, or where the
annotation was lost, claims that were kept hold the record, or the bootstrap ConfigMap itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..api import names
from ..api.errors import InvalidSpec
from ..api.seen import as_seen
from ..api.types import BootstrapMember, LogSetObserved, Manifest, Resource
from .claims import decided_earlier
from .rendering import bootstrap_decision

_MEMBERS = re.compile(r"init-hakeeper-members\s*=\s*\[([^\]]*)\]")
_MEMBER = re.compile(r'"(\d+):([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"')


def decided(
    resource: Resource,
    live: Resource | None,
    config: Mapping[str, Any] | None,
    claims: Iterable[Mapping[str, Any]] = (),
) -> LogSetObserved:
    """Return what was decided about a LogSet, or decide it now.

    Args:
        resource: the LogSet.
        live: the LogSet as it is in the cluster now; None if it is not there.
        config: the live bootstrap ConfigMap with its data; None if there is none.
        claims: the live claims with its labels; they may have outlived an earlier LogSet.

    Raises:
        InvalidSpec: an annotation cannot be read, or too many replicas are asked for.
    """
    annotations = ((live or resource)["metadata"]).get("annotations") or {}
    recorded = _read(annotations, names.ANNOTATION_BOOTSTRAP, list)
    incarnations = _read(annotations, names.ANNOTATION_INCARNATIONS, dict)
    earlier = None if recorded else decided_earlier(resource, claims)
    if earlier is not None:
        incarnations = earlier["incarnations"] if incarnations is None else incarnations
        return {"bootstrap": earlier["bootstrap"], "incarnations": incarnations}
    members = recorded or _from_config(config) or bootstrap_decision(resource)
    return {"bootstrap": members, "incarnations": incarnations or {}}


def _read(annotations: Mapping[str, Any], key: str, shape: type) -> Any:
    text = annotations.get(key)
    if not text:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, shape):
        raise InvalidSpec(f"metadata.annotations[{key}]", f"cannot be read: {text!r}")
    return value


def _from_config(config: Mapping[str, Any] | None) -> list[BootstrapMember]:
    """Read the members back from the text of the bootstrap ConfigMap."""
    text = ((config or {}).get("data") or {}).get(names.BOOTSTRAP_FILE) or ""
    found = _MEMBERS.search(text)
    return [
        {"ordinal": int(uuid.rpartition("-")[2], 16), "replicaId": int(replica)}
        for replica, uuid in _MEMBER.findall(found.group(1) if found else "")
    ]


def record(resource: Resource, live: Resource | None, observed: LogSetObserved) -> Manifest | None:
    """Return the annotations to store on the LogSet; None if it is there, or there is no LogSet.

    They are only stored on the LogSet as it was read: another operator may have decided meanwhile.
    """
    if live is None or not live["metadata"].get("uid"):
        return None
    if (live["metadata"].get("annotations") or {}).get(names.ANNOTATION_BOOTSTRAP):
        return None
    annotations = {names.ANNOTATION_BOOTSTRAP: _text(observed["bootstrap"])}
    if observed.get("incarnations"):
        annotations[names.ANNOTATION_INCARNATIONS] = _text(observed["incarnations"])
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "metadata": {
            "name": resource["metadata"]["name"],
            "namespace": resource["metadata"]["namespace"],
            **as_seen(live),
            "annotations": annotations,
        },
    }


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
