# SPDX-License-Identifier: Apache-2.0
"""A BACKUP statement that does not end: the attempt fails, so that another one can be made."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    statements,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.errors import (
    TaskFailed,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Login,
    Reason,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import SqlError
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    S3Location,
)

from tests.clients.matrixone.scripted import serving
from tests.clients.test_sql import OK, Server
from tests.clients.test_sql_tls import database as serving_tls
from tests.clients.test_sql_tls import pem
from tests.support.certificates import Authority

from .pods import Pods

pytestmark = pytest.mark.rpc


@pytest.fixture
def place(tmp_path: Path) -> FolderLocation:
    return FolderLocation(str(tmp_path / "v"), str(tmp_path / "v"))


def cell(text: bytes) -> bytes:
    return bytes([len(text)]) + text


def answer_one_row(server: Server, text: bytes) -> None:
    """Answer a query with a row of one column."""
    kind = b"\x0c\x21\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00"
    column = b"".join(map(cell, (b"def", b"", b"", b"", b"v", b""))) + kind
    for packet in (b"\x01", column, b"\xfe\x00\x00\x02\x00", cell(text), b"\xfe\x00\x00\x02\x00"):
        server.send(packet)


@contextmanager
def database(folder: Path, files: tuple[str, ...]) -> Iterator[int]:
    """A database whose BACKUP writes some files and gives no answer."""

    def session(peer: socket.socket) -> None:
        server = Server(peer)
        server.greet()
        server.take()
        server.send(OK)
        while asked := server.take():
            server.number = 1
            if asked.startswith(b"\x03BACKUP"):
                for name in files:
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    (folder / name).write_bytes(b"x")
                peer.recv(1)  # until the client is gone
            elif b"VERSION" in asked:
                answer_one_row(server, b"8.0.30-MatrixOne-v1.3.0")
            else:
                server.send(OK)

    with serving(session) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.parametrize(
    ("files", "reason", "said"),
    [
        (("tae/tae_list", "tae/tae_sum"), Reason.STATEMENT_FAILED, "has written all data"),
        (("tae/tae_list",), Reason.DEADLINE_EXCEEDED, "before its deadline"),
    ],
    ids=["at-its-end", "in-the-middle"],
)
def test_a_statement_that_does_not_end(
    place: FolderLocation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: tuple[str, ...],
    reason: Reason,
    said: str,
) -> None:
    """HAKeeper's state is what it asks for last, and nothing but a connection limits how long."""
    monkeypatch.setattr(statements, "_LAST_FILES_SECONDS", 1.0)
    monkeypatch.setattr(statements, "_LOOK_SECONDS", 0.5)
    pods = Pods(tmp_path / "pods", {}, {"username": "dump", "password": "a-word"}, seconds=8)
    with database(tmp_path / "v", files) as port:
        task = Task(Verb.BACKUP, "b", login=Login("127.0.0.1", port), target=place)
        ended = pods.attempt(task)
    assert (ended.result.reason, said in ended.result.message) == (reason, True), ended
    assert ended.result.retryable is (reason == Reason.STATEMENT_FAILED)


OURS, OTHER = (Authority().secret() for _ in range(2))
UNKNOWN = "is not trusted, or speaks no TLS"


@pytest.mark.parametrize(
    ("served", "mounted", "reason", "said"),
    [
        (OURS, OURS, None, ""),
        (OURS, OTHER, Reason.UNREACHABLE, UNKNOWN),
        (None, OURS, Reason.UNREACHABLE, "offers no TLS"),
        (OURS, {}, Reason.ACCESS_DENIED, "the Secret of tls has no usable key tls.crt"),
    ],
    ids=["ours", "of another", "without", "no certificate"],
)
def test_a_database_with_a_certificate_has_to_prove_what_it_is(
    tmp_path: Path,
    served: dict[str, str] | None,
    mounted: dict[str, str],
    reason: Reason | None,
    said: str,
) -> None:
    shown = {"tls.crt": pem(mounted)} if mounted else {}
    login = {"username": "dump", "password": "a-word"}
    pods, received = Pods(tmp_path / "pods", {}, login, proof=shown), bytearray()
    with serving_tls(tmp_path, served, received) as port:
        task = Task(Verb.READ, "b", login=Login("127.0.0.1", port, tls=True))
        if reason is None:
            assert statements.version(statements.entrance_of(task, pods.mounts(task))) == "1"
            return
        with pytest.raises(TaskFailed, match=said) as caught:
            statements.version(statements.entrance_of(task, pods.mounts(task)))
    assert (caught.value.reason, received) == (reason, b"")


KEYS = ("access_key_id", "an-id", "secret_access_key", "a-secret-of-40-characters")
HIDDEN = "(its text quotes the keys of the store, and is not shown)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", ""),
        ("Access Denied", ": Access Denied"),
        ("an error near 'cret-of-40-charac", f" {HIDDEN}"),
        ("near 'an-id', ...", f" {HIDDEN}"),
    ],
)
def test_what_the_database_says_of_a_failed_statement_is_shown_without_keys(
    words: str, said: str
) -> None:
    error = SqlError("refused (error 1105)")
    error.words = words
    found = statements.shown_of(error, ("BACKUP ...", ("b", "bucket", "data", *KEYS)))
    assert found == f"refused (error 1105){said}"


@pytest.mark.parametrize("told", ["", "eu-west-1"])
def test_the_region_is_that_of_the_server_if_it_tells_one(told: str) -> None:
    place = S3Location("data", "b", "http://127.0.0.1:9", "us-west-2", "aws", "target")
    task = Task(Verb.BACKUP, "b", login=Login("127.0.0.1", 1), target=place)
    mounts = SimpleNamespace(keys=lambda _place: None)
    _text, values = statements.statement(task, mounts, [], told)
    assert values[values.index("region") + 1] == (told or "us-west-2")
