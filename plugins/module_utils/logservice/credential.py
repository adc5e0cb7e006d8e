# SPDX-License-Identifier: Apache-2.0
"""Whether the Pods of a LogSet started with the keys that the Secret of the object store has now.

A container gets its environment when it starts, so that it keeps the keys of then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from ..api.fields import as_table
from ..api.pods import main_process
from ..api.timestamps import unix_time

Json = Mapping[str, Any]


def changed_at(secret: Json) -> float:
    """Return when the data of a Secret last changed, Unix time; 0 where that is not known.

    The API server notes the time when a manager of fields changed one of its own. It also does so
    when that manager changed a label, so that this may be too late, but never too early.
    """
    managers = (secret.get("metadata") or {}).get("managedFields") or []
    times = [
        unix_time(manager.get("time"))
        for manager in managers
        if "f:data" in as_table(manager.get("fieldsV1"))
    ]
    return max(times, default=0.0)


def outdated_credential(secret: Json, pods: Iterable[Json]) -> str:
    """Say which Pods started before the Secret changed; empty if none did.

    Args:
        secret: with the keys of the object store.
        pods: of the LogSet.
    """
    changed = changed_at(secret)
    started = {pod["metadata"]["name"]: unix_time(main_process(pod)) for pod in pods}
    old = sorted(name for name, start in started.items() if 0.0 < start < changed)
    if not old:
        return ""
    moment = datetime.fromtimestamp(changed, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    more = f" and {len(old) - 3} more" if len(old) > 3 else ""
    return (
        f"Secret {secret['metadata']['name']} changed at {moment}, and {', '.join(old[:3])}{more} "
        "started before that with the former keys, as other Pods of the database may have; restart "
        "the cluster with the annotation matrixorigin.io/restartedAt before these keys expire"
    )
