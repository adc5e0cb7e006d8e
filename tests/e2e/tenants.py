# SPDX-License-Identifier: Apache-2.0
"""Tenants (accounts) of a cluster on the real node, and the compute nodes that serve them."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    QueryService,
)

from tests.e2e.clusters import Cluster, Json

_PASSWORD = "tenant-111"
_ANSWER_SECONDS = 5.0


class Tenant(Cluster):
    """A cluster as the administrator of one of its accounts sees it."""

    def __init__(self, cluster: Cluster, account: str) -> None:
        super().__init__(cluster.bed, cluster.namespace, cluster.operator)
        self.account = account
        with cluster.connect() as session, session.cursor() as cursor:
            cursor.execute(
                f"create account if not exists {account} admin_name 'admin' "
                f"identified by '{_PASSWORD}'"
            )

    @cached_property
    def entrance(self) -> Json:
        """Where the account's administrator finds SQL."""
        return {**super().entrance, "user": f"{self.account}:admin", "password": _PASSWORD}

    def served_by(self, stores: Iterable[Json]) -> str:
        """Return which of some stores has a new session of the tenant; empty if none has.

        Each is asked itself: a process list asks all compute nodes, and waits up to 15 s for one
        that has just gone.

        Args:
            stores: as ``status.store`` of claims has them.
        """
        with self.connect() as session, session.cursor() as cursor:
            cursor.execute("select connection_id()")
            ((own,),) = cursor.fetchall()
            found = [store["serviceID"] for store in stores if _has_session(store, int(own))]
        assert len(found) <= 1, found
        return str(found[0]) if found else ""

    def claim(self, name: str, pool: str, **spec: Any) -> Json:
        """Return a claim of a compute node for the tenant."""
        return {
            "apiVersion": "core.matrixorigin.io/v1alpha1",
            "kind": "CNClaim",
            "metadata": {"name": name},
            "spec": self.wants(pool, **spec),
        }

    def wants(self, pool: str, **spec: Any) -> Json:
        """Return the spec of such a claim."""
        return {
            "selector": {"matchLabels": {"pool": pool}},
            "ownerName": self.account,
            "cnLabels": [{"key": "account", "values": [self.account]}],
            **spec,
        }


def _has_session(store: Json, connection: int) -> bool:
    with QueryService(store["queryAddress"]) as query:
        sessions = query.sessions(Deadline.after(_ANSWER_SECONDS))
    return any(one.connection == connection for one in sessions)
