# SPDX-License-Identifier: Apache-2.0
"""A SQL session: through a tunnel of kubectl, with the client that is there or a simple one."""

import base64
import contextlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pymysql

from .errors import KubectlError, PluginError
from .kubectl import Json, Kubectl, reason, table_in
from .reading import condition
from .terminal import Style, table
from .users import USERS, secret_of

_CLIENTS: Final = ("mysql", "mariadb")
_FORWARDING: Final = re.compile(rb"Forwarding from 127\.0\.0\.1:(\d+) ->")
_TUNNEL_SECONDS: Final = 30.0
_LOGIN_SECONDS: Final = 20


@dataclass(frozen=True, slots=True)
class Login:
    """As whom to log in; the password is never shown, and never an argument of a program."""

    user: str
    password: str = field(repr=False)


def root_login(kubectl: Kubectl, secret: str) -> Login:
    """Return the login of the root user.

    Raises:
        PluginError: the Secret cannot be read, or holds no login.
    """
    if not secret:
        raise PluginError("the status of the cluster names no Secret of the root user yet")
    return _login_in(kubectl, secret, "")


def managed_login(kubectl: Kubectl, cluster: str, user: str) -> Login | None:
    """Return the login of a user that a DatabaseUser manages.

    None if no such resource is known, or the Secret cannot be read: then its password is asked for.
    """
    try:
        secret = secret_of(kubectl.list([USERS]).items, cluster, user)
        return _login_in(kubectl, secret, user) if secret else None
    except KubectlError:
        return None


def _login_in(kubectl: Kubectl, secret: str, user: str) -> Login:
    """Return the login in a Secret; a user that is named need not be in it.

    Raises:
        PluginError: the Secret cannot be read, or holds no login.
    """
    data = table_in(kubectl.get("secret", secret), "data")
    try:
        password = base64.b64decode(data["password"], validate=True).decode()
        user = user or base64.b64decode(data["username"], validate=True).decode()
    except (KeyError, ValueError) as error:
        raise PluginError(f"Secret {secret} has no usable username and password") from error
    return Login(user, password)


def address_of(cluster: Json) -> str:
    """Return ``host:port`` of the SQL of a cluster.

    Raises:
        PluginError: nothing answers there: the cluster is stopped on purpose, or its status has
            no address yet.
    """
    name, status = cluster["metadata"]["name"], table_in(cluster, "status")
    ready = condition(cluster, "Ready")
    if ready.get("reason") == "Hibernated":
        raise PluginError(f"{name} hibernates; wake it by kubectl matrixone wake {name}")
    if ready.get("reason") == "Stopped":
        raise PluginError(f"{name} is stopped: {ready.get('message') or 'it runs no compute node'}")
    host, port = status.get("host"), status.get("port")
    if not host or not port:
        raise PluginError(f"{name} answers no SQL yet: its status names no host")
    return f"{host}:{port}"


@contextlib.contextmanager
def tunnel(kubectl: Kubectl, address: str) -> Iterator[int]:
    """Yield a port of this machine that leads to the Service of a cluster.

    Args:
        kubectl: where the cluster was found.
        address: as of `address_of`.

    Raises:
        KubectlError: kubectl cannot make one.
    """
    host, _colon, port = address.partition(":")
    service = f"service/{host.partition('.')[0]}"
    process = subprocess.Popen(
        kubectl.command("port-forward", "--address=127.0.0.1", service, f":{port}"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # An interrupt of the user is for the statement that runs, not for the tunnel.
        start_new_session=True,
    )
    try:
        yield _opened(process)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        process.kill()
        process.wait()


def _opened(process: "subprocess.Popen[bytes]") -> int:
    if process.stdout is None or process.stderr is None:
        raise AssertionError("both are pipes")
    deadline, printed = time.monotonic() + _TUNNEL_SECONDS, b""
    while time.monotonic() < deadline:
        ready, _, _ = select.select([process.stdout], [], [], 0.2)
        got = os.read(process.stdout.fileno(), 4096) if ready else b""
        printed += got
        if found := _FORWARDING.search(printed):
            return int(found[1])
        if process.poll() is not None and not got:
            raise KubectlError(reason(process.stderr.read().decode(errors="replace")))
    raise KubectlError(f"kubectl port-forward opened no port within {_TUNNEL_SECONDS:g} seconds")


def client_session(port: int, login: Login, database: str) -> int | None:
    """Run the client of MySQL or MariaDB on the terminal; None where there is none.

    Returns:
        Its exit code.
    """
    program = next(filter(None, map(shutil.which, _CLIENTS)), None)
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="kubectl-matrixone-") as folder:
        options = Path(folder) / "client.cnf"
        options.touch(mode=0o600)
        options.write_text(option_file(port, login, _without_tls(program)), encoding="utf-8")
        command = [program, f"--defaults-extra-file={options}", *([database] if database else [])]
        return subprocess.run(command, check=False).returncode


def _without_tls(program: str) -> str:
    """Return the option of a client for a session without TLS, on which newer ones insist.

    The tunnel begins at this machine, and goes through the TLS of the API server.
    """
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return "skip-ssl" if "MariaDB" in version.stdout else "ssl-mode=DISABLED"


def option_file(port: int, login: Login, more: str = "") -> str:
    """Return the options of a client, with the password."""
    values = {"host": "127.0.0.1", "port": str(port), "user": login.user}
    lines = [f"{name}={_quoted(value)}" for name, value in values.items()]
    password = f"password={_quoted(login.password)}"
    return "\n".join(("[client]", *lines, password, more, ""))


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@contextlib.contextmanager
def connected(port: int, login: Login, database: str) -> Iterator[Any]:
    """Yield a connection of the simple client.

    Raises:
        PluginError: the login is refused.
    """
    try:
        connection = pymysql.connect(
            host="127.0.0.1",
            port=port,
            user=login.user,
            password=login.password,
            database=database or None,
            connect_timeout=_LOGIN_SECONDS,
            autocommit=True,
            ssl_disabled=True,
        )
    except pymysql.MySQLError as error:
        raise PluginError(f"no login as {login.user}: {_words(error)}") from error
    with connection:
        yield connection


def answer(connection: Any, statement: str, style: Style) -> list[str]:
    """Run a statement and return its rows as lines.

    Raises:
        PluginError: the database refuses it.
    """
    try:
        with connection.cursor() as cursor:
            count = cursor.execute(statement)
            if not cursor.description:
                return [f"OK, {_rows(count)}"]
            heads = [str(column[0]) for column in cursor.description]
            rows = [[_cell(value) for value in row] for row in cursor.fetchall()]
    except pymysql.MySQLError as error:
        raise PluginError(_words(error)) from error
    return [*table([heads, *rows], style), f"({_rows(len(rows))})"]


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return str(value).replace("\n", "\\n")


def _words(error: Exception) -> str:
    return str(error.args[-1]) if error.args else type(error).__name__


def statements_in(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements of a text: a line that ends with a semicolon ends one."""
    begun: list[str] = []
    for line in lines:
        begun.append(line.rstrip("\n"))
        if line.rstrip().endswith(";"):
            yield "\n".join(begun).strip().removesuffix(";")
            begun = []
    if rest := "\n".join(begun).strip():
        yield rest
