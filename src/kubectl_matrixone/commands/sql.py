# SPDX-License-Identifier: Apache-2.0
"""``sql``: a SQL session."""

import argparse
import getpass
import sys
from collections.abc import Iterator

from kubectl_matrixone import sql
from kubectl_matrixone.commands.options import Commands, add_about_cluster
from kubectl_matrixone.errors import PluginError, say_error
from kubectl_matrixone.kubectl import Kubectl, table_in
from kubectl_matrixone.reading import chosen
from kubectl_matrixone.terminal import Style


def add(commands: Commands) -> None:
    """Add the command."""
    command = add_about_cluster(commands, "sql", "open a SQL session", _sql)
    command.add_argument("-e", "--execute", action="append", default=[], metavar="STATEMENT")
    command.add_argument("-d", "--database", default="")
    command.add_argument(
        "-l",
        "--login",
        default="",
        metavar="USER",
        help="another user than root; its password is that of its DatabaseUser, or asked for",
    )


def _sql(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    if options.login:
        login = sql.managed_login(kubectl, cluster["metadata"]["name"], options.login) or sql.Login(
            options.login, getpass.getpass(f"Password of {options.login}: ")
        )
    else:
        status = table_in(cluster, "status")
        login = sql.root_login(kubectl, table_in(status, "credentialRef").get("name") or "")
    with sql.tunnel(kubectl, sql.address_of(cluster)) as local:
        if not options.execute and sys.stdin.isatty():
            code = sql.client_session(local, login, options.database)
            return _converse(local, login, options.database) if code is None else code
        given = options.execute or sql.statements_in(sys.stdin)
        with sql.connected(local, login, options.database) as connection:
            for statement in given:
                print("\n".join(sql.answer(connection, statement, Style.of(sys.stdout))))
    return 0


def _converse(port: int, login: sql.Login, database: str) -> int:
    """Ask for statements until the end of the input: the simple client."""
    with sql.connected(port, login, database) as connection:
        print("A line that ends with a semicolon runs a statement; end with Ctrl-D.")
        for statement in sql.statements_in(_prompted()):
            try:
                print("\n".join(sql.answer(connection, statement, Style.of(sys.stdout))))
            except PluginError as error:
                say_error(error)
    return 0


def _prompted() -> Iterator[str]:
    while True:
        try:
            yield input("matrixone> ")
        except EOFError:
            print()
            return
