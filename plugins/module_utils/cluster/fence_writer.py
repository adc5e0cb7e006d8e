# SPDX-License-Identifier: Apache-2.0
"""Keep clients off a cluster, or let them come again: at its Services, and in its sessions."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ..api import names
from ..api.pod_addresses import running_sql_addresses
from ..api.types import Resource
from ..clients.kubernetes.applying import Writer
from ..clients.sql import Entrance, LoginRefused, Rows, SqlError, Statement, converse
from ..passes.observing import fetch
from .logins import root_login
from .root_credential import Login

_AT_ONCE: Final = 8
_LISTED: Final = ("select node_id, conn_id, connection_id() from processlist() p", ())
"""MatrixOne answers a comparison with a word, of which `false` is as true as any: so none is."""
_UNLISTED: Final = "it does not list its sessions yet"


def select_pods(
    writer: Writer, resource: Resource, services: Sequence[str], *, closed: bool
) -> int:
    """Have Services select no Pod, or the Pods of their set again; return how many were changed.

    A Service that does not exist has no clients.

    Args:
        writer: changes them.
        resource: the cluster.
        services: their names.
        closed: whether they are to select no Pod.
    """
    changed = 0
    for name in services:
        place = {"name": name, "namespace": resource["metadata"]["namespace"]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": place}
        found = writer.get(service)
        if found is None or closed == (names.ANNOTATION_FENCED in found["spec"]["selector"]):
            continue
        selector = {names.ANNOTATION_FENCED: "true" if closed else None}
        writer.patch({**service, "spec": {"selector": selector}})
        changed += 1
    return changed


def end_sessions(writer: Writer, resource: Resource, seconds: float) -> tuple[int, str]:
    """End all sessions on the compute nodes of a cluster, those of its CNPools included.

    One that is not ready may have some all the same: its process is asked as long as it runs.

    Returns:
        How many were ended, and what could not be done.

    Raises:
        KubeError: the Pods cannot be read.
        ValueError: there is no root credential.
    """
    metadata = resource["metadata"]
    labels = {names.LABEL_CLUSTER: metadata["name"], names.LABEL_COMPONENT: names.CN_SET}
    reference = {"api_version": "v1", "kind": "Pod", "labels": labels}
    pods = fetch(writer.session, "pods", {**reference, "namespace": metadata["namespace"]})
    addresses = running_sql_addresses(pods)
    if not addresses:
        return 0, ""
    login = root_login(writer, resource)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fence") as threads:
        results = list(
            threads.map(lambda node: _ended(node[0], node[1], login, seconds), addresses.items())
        )
    problems = [problem for _number, problem in results if problem]
    return sum(number for number, _problem in results), "; ".join(problems)


def _ended(pod: str, address: tuple[str, int], login: Login, seconds: float) -> tuple[int, str]:
    """End the sessions on one compute node; return how many, and why not all."""
    entrance = Entrance(*address, user=login.user, password=login.password)
    try:
        ended, why = converse(entrance, _ending(), seconds), _UNLISTED
    except LoginRefused as error:
        ended, why = None, str(error)
    except SqlError as error:
        ended, why = None, error.said()
    if ended is None:
        return 0, f"the sessions on {pod}: {why}"
    return ended, ""


def _ending() -> Generator[Statement, Rows, int | None]:
    """Kill all sessions of a compute node but this one; return how many.

    A compute node that has just started may list none, not even this one: that is not known to be
    all, and None is returned.
    """
    rows = yield _LISTED
    nodes = {node for node, session, this in rows if session == this}
    found = [int(session) for node, session, this in rows if node in nodes and session != this]
    for session in found:
        yield f"kill connection {session}", ()
    return len(found) if nodes else None
