# SPDX-License-Identifier: Apache-2.0
"""What a kind does in a pass besides applying and reporting, and when that is needed.

The task files alone have the order. A test compares them with the names here: a task that acts and
has no entry, so that the check would never find it needed, fails it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..api import names
from ..api.pods import live_pods
from ..api.timestamps import timestamp
from ..clients.kubernetes.applying import Writer
from ..cluster.connection import Connection
from ..cluster.connection_writer import is_in_place
from ..cluster.parts import PARTS
from ..cluster.upgrading import questions
from ..compute.pass_input import PassInput
from ..compute.pods import became_ready_lately, policy_of, recorded_states, without_state
from ..logservice.health import Question, question
from ..logservice.left_stores import left_stores
from ..reporting.rollout import partition_of
from ..workload import nodes
from ..workload.roll import is_rolling
from ..workload.set_kind import growth_of_set
from ..workload.tls import expiring
from .snapshot import Snapshot

Need = Callable[[Snapshot], bool]
"""Tells whether a task would do anything now, or has to find that out."""


def _grows(snapshot: Snapshot) -> bool:
    component = PARTS[snapshot.resource["kind"]]
    growth = growth_of_set(component, snapshot.resource, snapshot.observed)
    return bool(growth.claims or growth.templates)


def _rolls(snapshot: Snapshot) -> bool:
    """Tell whether Pods of a StatefulSet are to be replaced."""
    partition = partition_of(snapshot.resource)
    return is_rolling(snapshot.workload, snapshot.pods, partition)


def _asks_about_log_stores(snapshot: Snapshot) -> bool:
    """Tell whether HAKeeper has to be asked, or claims of stores that left are to be deleted."""
    workload, pods = snapshot.workload, snapshot.pods
    if workload is None:
        return False
    if left_stores(snapshot.resource):
        return True
    return question(snapshot.resource, workload, pods, snapshot.now) is not Question.NONE


def _has_stuck_pods(snapshot: Snapshot) -> bool:
    """Tell whether Pods may be stuck on dead nodes; shards move only while Pods are replaced."""
    return bool(nodes.overdue(snapshot.pods, snapshot.now))


def _asks_about_compute_nodes(snapshot: Snapshot) -> bool:
    """Tell whether HAKeeper has to be asked, or anything to be set in it."""
    resource, workload, now = snapshot.resource, snapshot.workload, snapshot.now
    if workload is None:
        return False
    pods = live_pods(snapshot.pods)
    if set(became_ready_lately(pods, now)) & set(without_state(pods, recorded_states(resource))):
        return True
    desired, present = resource["spec"].get("replicas"), workload["spec"].get("replicas")
    return PassInput(policy_of(resource), desired, present, pods, (), (), now).is_managed


def _lacks_credential(snapshot: Snapshot) -> bool:
    return bool(snapshot.plan.credential) and snapshot.observed.get("credential") is None


def _lacks_metric_user(snapshot: Snapshot) -> bool:
    """Tell whether the user is still to be created; its Secret is read in full passes only."""
    metrics = snapshot.resource["status"].get("clusterMetrics") or {}
    return bool(snapshot.plan.metrics) and not metrics.get("initialized")


def _changes_connection_secrets(snapshot: Snapshot) -> bool:
    """Tell whether a Secret for applications is not as what it is made of."""
    writer = Writer(snapshot.session, dry_run=True, owner=snapshot.resource)
    decided = Connection.read(snapshot.plan.connection)
    return not is_in_place(writer, snapshot.resource, decided)


def _asks_for_catalog(snapshot: Snapshot) -> bool:
    """Tell whether an upgrade needs to know how far the catalog is."""
    return bool(questions(snapshot.resource, snapshot.observed).catalog)


def _certificate_expires(snapshot: Snapshot) -> bool:
    """Tell whether an alert has to be kept up: an operator that has restarted shows no metrics."""
    status = snapshot.resource.get("status") or {}
    return expiring(status.get("tls"), timestamp(snapshot.now)) is not None


_CERTIFICATE: Final = "Show when its certificate expires as metrics"
NEEDS: Final[Mapping[str, Mapping[str, Need]]] = {
    names.CLUSTER: {
        "Ask the database how far its catalog is, and the canary of an upgrade": _asks_for_catalog,
        "Create the root credential unless there is one": _lacks_credential,
        "Keep clients off while the cluster is fenced, and let them come again afterwards": (
            lambda snapshot: bool(snapshot.plan.fence)
        ),
        "Set the root credential of the database to that of its Secret": (
            lambda snapshot: bool(snapshot.plan.rotation)
        ),
        "Create the SQL user that may read the metrics tables": _lacks_metric_user,
        "Write the Secrets that tell applications how to connect": _changes_connection_secrets,
    },
    names.LOG_SET: {
        "Replace lost log stores and let surplus ones leave": _asks_about_log_stores,
        "Grow volumes": _grows,
        "Replace log stores of an earlier template": _rolls,
        _CERTIFICATE: _certificate_expires,
    },
    names.DN_SET: {
        "Ask which shards the transaction nodes serve and force-delete Pods on dead nodes": (
            _has_stuck_pods
        ),
        "Grow volumes": _grows,
        "Replace transaction nodes of an earlier template": _rolls,
        _CERTIFICATE: _certificate_expires,
    },
    names.CN_SET: {
        "Set work state and labels in HAKeeper and drain compute nodes that leave": (
            _asks_about_compute_nodes
        ),
        _CERTIFICATE: _certificate_expires,
    },
    names.PROXY_SET: {_CERTIFICATE: _certificate_expires},
    names.WEB_UI: {_CERTIFICATE: _certificate_expires},
}
"""By kind, and by the name of the task in its role; the cheapest first."""
