# SPDX-License-Identifier: Apache-2.0
"""Tenants (accounts) of a cluster on the real node, and the compute nodes that serve them."""

from functools import cached_property
from typing import Any

from tests.e2e.clusters import Cluster, Json

_PASSWORD = "tenant-111"


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

    def served_by(self) -> str:
        """Return the UUID of the store that answers a new session of the tenant."""
        with self.connect() as session, session.cursor() as cursor:
            cursor.execute("select connection_id()")
            own = _first(cursor.fetchall())
            cursor.execute("show processlist")
            names = [str(column[0]) for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        found = [str(row["node_id"]) for row in rows if str(row["conn_id"]) == own]
        assert len(found) == 1, rows
        return found[0]

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


def _first(rows: Any) -> str:
    return str(rows[0][0])
