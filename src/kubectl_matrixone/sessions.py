# SPDX-License-Identifier: Apache-2.0
"""Sessions of users on compute nodes: the database knows them, Kubernetes does not."""

import contextlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pymysql

from . import sql
from .errors import PluginError, Unanswered
from .kubectl import Json, Kubectl, table_in

_COLUMNS: Final = "node_id, `account`, proxy_host"
_STATEMENT: Final = f"select {_COLUMNS} from processlist() p where conn_id <> connection_id()"  # noqa: S608
_LISTS_ALL_SINCE: Final = (2, 0)
"""Earlier releases leave out the sessions of nodes that drain (pkg/sql/colexec/table_function)."""

Counts = dict[str, int]
"""Sessions of users by the id of a node; a node that is not in it has none."""


def counted(rows: Iterable[tuple[Any, ...]]) -> Counts:
    """Count sessions as a drain of the operator does.

    Those that came through a proxy, which moves them, and those of tenants. What is left are the
    database's own and direct ones of administrators.

    Args:
        rows: id of the node, account, and address of the proxy, for each session.
    """
    return dict(
        Counter(
            str(node)
            for node, account, proxy in rows
            if proxy or str(account or "") not in {"", "sys"}
        )
    )


def lists_draining(cluster: Json) -> bool:
    """Return whether the database lists the sessions of a node that drains, too.

    A version that cannot be parsed counts as one that does not: no session is to be overlooked.
    """
    found = re.match(r"v?(\d+)\.(\d+)\.", str(table_in(cluster, "status").get("version") or ""))
    return found is not None and (int(found[1]), int(found[2])) >= _LISTS_ALL_SINCE


@contextlib.contextmanager
def counting(kubectl: Kubectl, cluster: Json) -> Iterator[Callable[[], Counts]]:
    """Yield what asks the database for the sessions of all nodes, as root.

    Raises:
        PluginError: nobody can log in; what is yielded raises Unanswered.
    """
    status = table_in(cluster, "status")
    login = sql.root_login(kubectl, table_in(status, "credentialRef").get("name") or "")
    with (
        sql.tunnel(kubectl, sql.address_of(cluster)) as port,
        sql.connected(port, login, "") as connection,
    ):
        yield lambda: _ask(connection)


def _ask(connection: Any) -> Counts:
    try:
        connection.ping(reconnect=True)
        with connection.cursor() as cursor:
            cursor.execute(_STATEMENT)
            return counted(cursor.fetchall())
    except (pymysql.MySQLError, OSError) as error:
        raise Unanswered(f"the sessions: {error}") from error


def counted_once(kubectl: Kubectl, cluster: Json) -> tuple[Counts | None, str]:
    """Return the sessions of all nodes, or None and why they are not known."""
    try:
        with counting(kubectl, cluster) as ask:
            return ask(), ""
    except PluginError as error:
        return None, str(error)
