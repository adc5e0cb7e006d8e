# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One step of the rolling update of a StatefulSet: replace the Pods that log shards can spare."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from ...module_utils.api import digests as digest
from ...module_utils.api import names
from ...module_utils.clients.kubernetes.applying import Writer
from ...module_utils.clients.kubernetes.selecting import Selection
from ...module_utils.clients.kubernetes.session import Session
from ...module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    MalformedAnswer,
    MatrixOneError,
    Unreachable,
    Unsupported,
)
from ...module_utils.clients.matrixone.quorum import shard_health
from ...module_utils.compute.pods import log_addresses
from ...module_utils.logservice.roll import dispensable
from ...module_utils.reporting.rollout import partition_of
from ...module_utils.workload import roll as rolling

Json = dict[str, Any]
_ASK_SECONDS = 5.0
_KNOCK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """What a step did.

    Attributes:
        outdated: Pods of an earlier template, those included that were replaced now.
        replaced: Pods that were deleted, to come back with the new template.
        waiting: what the next replacement waits for.
        seconds: after how many seconds time alone brings that about; 0 if unknown.
    """

    outdated: Sequence[str]
    replaced: Sequence[str]
    waiting: str
    seconds: int = 0

    def as_result(self) -> dict[str, Any]:
        """Return what a task's result has of it: ``roll``."""
        return {
            "outdated": list(self.outdated),
            "replaced": list(self.replaced),
            "waiting": self.waiting,
            "seconds": self.seconds,
        }


def take_step(session: Session, resource: Mapping[str, Any], *, dry_run: bool) -> Step:
    """Replace the Pods of a set's StatefulSet that may be deleted now.

    Args:
        session: connection to the API server.
        resource: a LogSet or DNSet.
        dry_run: decide, but delete nothing.

    Raises:
        KubeError: the API server refuses.
    """
    kind, metadata = resource["kind"], resource["metadata"]
    place = {"namespace": metadata["namespace"], "name": names.base_name(kind, metadata["name"])}
    identity = {"apiVersion": "apps/v1", "kind": names.WORKLOADS[kind], "metadata": place}
    workload = Writer(session).get(identity)
    if workload is None:
        return Step((), (), "")
    labels = names.selector_labels(kind, metadata["name"], metadata["namespace"])
    pods = {
        pod["metadata"]["name"]: pod
        for pod in Selection("v1", "Pod", metadata["namespace"], labels).list(session)
    }
    now, partition = datetime.now(timezone.utc), partition_of(resource)
    turn = rolling.next_turn(workload, pods.values(), now, partition)
    chosen, waiting = list(turn.replace), turn.waiting
    if turn.candidates and kind == names.LOG_SET:
        spare, waiting = _dispensable(resource, turn.candidates, list(pods.values()))
        chosen = [spare] if spare else []
    elif turn.candidates:
        chosen = [turn.candidates[0]]
    for name in chosen:
        Writer(session, dry_run=dry_run).delete(_identity(pods[name]))
    return Step(turn.outdated, chosen, waiting, turn.seconds)


def _identity(pod: Mapping[str, Any]) -> Json:
    """Name this very Pod, not a later one of the same name."""
    identity = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": identity}


def _dispensable(
    resource: Mapping[str, Any], candidates: Sequence[str], pods: list[Json]
) -> tuple[str, str]:
    """Ask HAKeeper which of the candidates the log shards can do without.

    Where none can be reached although Kubernetes reaches them all, the operator has no way into
    their network; an answer that is not understood may come from another release. Then readiness
    has to suffice. A log service that has no leader, or does not answer, is waited for.
    """
    addresses = log_addresses(pods)
    if not _reachable(addresses):
        return candidates[0], ""
    try:
        with HAKeeper(discovery=addresses, addresses=addresses) as hakeeper:
            details = hakeeper.cluster_details(Deadline.after(_ASK_SECONDS))
    except (Unreachable, MalformedAnswer, Unsupported):
        return candidates[0], ""
    except MatrixOneError as error:
        return "", f"HAKeeper to answer: {error}"
    shards = shard_health(details)
    leaders = {
        number: health.shard.members.get(health.shard.leader or 0, "")
        for number, health in shards.items()
    }
    lost = {number: health.lost for number, health in shards.items()}
    return dispensable(candidates, _stores(resource, pods), lost, leaders)


def _reachable(addresses: Sequence[str]) -> bool:
    """Tell whether any of the log stores accepts a connection from here."""

    def knock(address: str) -> bool:
        host, _colon, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS):
                return True
        except OSError:
            return False

    if not addresses:
        return False
    with ThreadPoolExecutor(len(addresses), thread_name_prefix="knock") as pool:
        return any(pool.map(knock, addresses))


def _stores(resource: Mapping[str, Any], pods: list[Json]) -> dict[str, str]:
    """Return the UUID of the store by Pod."""
    annotations = resource["metadata"].get("annotations") or {}
    incarnations = json.loads(annotations.get(names.ANNOTATION_INCARNATIONS) or "{}")
    found = {}
    for pod in pods:
        name = str(pod["metadata"]["name"])
        ordinal = name.rpartition("-")[2]
        found[name] = digest.log_uuid(int(ordinal), int(incarnations.get(ordinal) or 0))
    return found
