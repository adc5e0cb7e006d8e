# SPDX-License-Identifier: Apache-2.0
"""How the program is let in: certificates, keys that expire, the identity of a ServiceAccount."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.stores import (
    Mounts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Reason,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    Erasable,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    S3Location,
)

from testbed import object_store
from testbed.certificates import Authority
from testbed.object_store import ObjectStore

from . import written
from .pods import Pods, bucket, keys_of

pytestmark = pytest.mark.rpc
FILES = {"a_00000": b"a" * 3000, "ckp/meta_0": b"checkpoint"}
_OLD = "key-of-yesterday"


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with object_store.serving(tmp_path_factory.mktemp("s3"), tls=True) as server:
        server.make_bucket("backups")
        yield server


def mounts_of(server: ObjectStore, folder: Path) -> Mounts:
    (folder / "target").mkdir(parents=True)
    for key, value in keys_of(server).items():
        (folder / "target" / key).write_text(value)
    return Mounts(folder)


@pytest.fixture
def place(server: ObjectStore, tmp_path: Path) -> S3Location:
    """A backup in the bucket."""
    found = bucket(server, f"backups/{tmp_path.name}/1", "source")
    store = mounts_of(server, tmp_path / "writer").open(replace(found, credentials="target"))
    written.backup(store, "b", FILES)
    return found


def test_a_server_is_trusted_by_the_certificates_that_the_resource_names(
    secure: ObjectStore, tmp_path: Path
) -> None:
    assert secure.authority
    own = secure.authority.read_text()
    other = (Authority.open(tmp_path / "other").folder / "ca.crt").read_text()
    pods = Pods(tmp_path, keys_of(secure), certificates={"own.crt": own, "other.crt": other})
    target = bucket(secure, f"backups/{tmp_path.name}")
    folder = tmp_path / "secrets"
    mounts = mounts_of(secure, folder)
    (folder / "target-ca").mkdir()
    (folder / "target-ca" / "own.crt").write_text(own)
    written.backup(mounts.open(replace(target, certificates=("own.crt",))), "b", FILES)
    cases: list[tuple[tuple[str, ...], int, Reason | None]] = [
        (("own.crt",), 0, None),
        (("other.crt", "own.crt"), 0, None),
        (("other.crt",), 1, Reason.UNREACHABLE),
        ((), 1, Reason.UNREACHABLE),
        (("missing.crt",), 2, Reason.INVALID_TASK),
    ]
    for names, code, reason in cases:
        source = replace(target, credentials="source", certificates=names)
        ended = pods.attempt(Task(Verb.VERIFY, "v", source=source))
        assert (ended.code, ended.result.reason) == (code, reason), (names, ended)
        if reason is Reason.UNREACHABLE:
            assert "certificate is not trusted" in ended.result.message


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on loopback and return the URL."""
    served = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=served.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{served.server_port}"
    finally:
        served.shutdown()
        served.server_close()


class Quiet(BaseHTTPRequestHandler):
    """Answers without a log."""

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def token_service(server: ObjectStore, asked: list[dict[str, list[str]]]) -> type[Quiet]:
    """Return a security token service that gives the keys of a server for one token."""

    class Service(Quiet):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            asked.append(form := parse_qs(self.rfile.read(length).decode()))
            refused = _REFUSALS.get(form["WebIdentityToken"][0])
            if refused:
                error = f"<Error><Code>{refused}</Code><Message>no</Message></Error>"
                self.answer(400, f"<ErrorResponse>{error}</ErrorResponse>")
                return
            keys = "".join(
                f"<{name}>{value}</{name}>"
                for name, value in {
                    "AccessKeyId": server.access_key,
                    "SecretAccessKey": server.secret_key,
                    "SessionToken": "",  # the server of the tests refuses any
                    "Expiration": "2099-01-01T00:00:00Z",
                }.items()
            )
            name = "AssumeRoleWithWebIdentity"
            result = f"<{name}Result><Credentials>{keys}</Credentials></{name}Result>"
            self.answer(200, f"<{name}Response>{result}</{name}Response>")

    return Service


_REFUSALS = {"expired-one": "ExpiredTokenException", "foreign-one": "InvalidIdentityToken"}


@pytest.mark.parametrize(
    ("token", "code", "reason"),
    [
        ("of-this-pod", 0, None),
        ("expired-one", 1, Reason.CREDENTIALS_EXPIRED),
        ("foreign-one", 2, Reason.ACCESS_DENIED),
    ],
)
def test_the_identity_of_a_service_account_lets_in(
    server: ObjectStore,
    place: S3Location,
    tmp_path: Path,
    token: str,
    code: int,
    reason: Reason | None,
) -> None:
    """Without a Secret: the Pod's token is exchanged for keys, as with IRSA."""
    file = tmp_path / "token"
    file.write_text(token)
    asked: list[dict[str, list[str]]] = []
    with answering(token_service(server, asked)) as url:
        variables = {
            "AWS_WEB_IDENTITY_TOKEN_FILE": str(file),
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/backups",
            "AWS_ENDPOINT_URL_STS": url,
            "AWS_REGION": server.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        pods = Pods(tmp_path / "pods", {}, variables=variables)
        source = replace(place, credentials=None)
        ended = pods.run(Task(Verb.VERIFY, "v", source=source))
    assert (ended.code, ended.result.reason) == (code, reason), ended
    assert {one["RoleArn"][0] for one in asked} == {"arn:aws:iam::1:role/backups"}
    assert token not in ended.errors


def gate(server: ObjectStore, on_old: Callable[[], None]) -> type[Quiet]:
    """Return what passes requests on to a server, but for those with keys that have expired."""
    address = urlsplit(server.endpoint).netloc

    class Gate(Quiet):
        def _pass(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            if _OLD in self.headers["Authorization"]:
                on_old()
                said = "<Code>ExpiredToken</Code><Message>expired</Message>"
                self.answer(400, f"<Error>{said}</Error>")
                return
            connection = http.client.HTTPConnection(address, timeout=30)
            headers = dict(self.headers.items())
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name in ("Content-Type", "ETag", "Content-Range"):
                if value := answer.headers.get(name):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _pass  # noqa: N815

    return Gate


@pytest.mark.parametrize("renewed", [True, False], ids=["renewed", "not-renewed"])
def test_keys_that_expire_are_read_again(
    server: ObjectStore, place: S3Location, tmp_path: Path, renewed: bool
) -> None:
    """A Secret's files follow the Secret: new keys are used in the middle of a task."""
    old = {"AWS_ACCESS_KEY_ID": _OLD, "AWS_SECRET_ACCESS_KEY": "of-yesterday"}
    pods = Pods(tmp_path / "pods", old)

    def renew() -> None:
        for key, value in keys_of(server).items():
            (pods.root / "pod0" / "source" / key).write_text(value)

    with answering(gate(server, renew if renewed else lambda: None)) as url:
        source = replace(place, endpoint=url)
        ended = pods.attempt(Task(Verb.VERIFY, "v", source=source))
    expected = (0, None) if renewed else (1, Reason.CREDENTIALS_EXPIRED)
    assert (ended.code, ended.result.reason) == expected, ended


def test_a_bucket_with_versions_keeps_none_of_a_deleted_backup(
    server: ObjectStore, tmp_path: Path
) -> None:
    name = "versions"
    server.make_bucket(name)
    mounts = mounts_of(server, tmp_path / "secrets")
    place = bucket(server, f"{name}/mo/1")
    store = mounts.open(place)
    client = store._connection  # type: ignore[attr-defined]
    client.call(
        name,
        "put_bucket_versioning",
        Bucket=name,
        VersioningConfiguration={"Status": "Enabled"},
    )
    for _ in range(2):
        written.backup(store, "b", FILES)
    store.erase([Erasable("mo_meta")])

    def versions() -> list[str]:
        found = client.call(name, "list_object_versions", Bucket=name)
        kinds = [*found.get("Versions", []), *found.get("DeleteMarkers", [])]
        return [one["Key"] for one in kinds]

    assert len(versions()) > len(list(store.entries()))
    written.backup(store, "b", FILES)
    pods = Pods(tmp_path / "pods", keys_of(server))
    folder = FolderLocation(str(tmp_path / "new"), str(tmp_path / "new"))
    source = replace(place, credentials="source")
    assert pods.attempt(Task(Verb.RESTORE, "r", source=source, target=folder)).code == 0
    ended = pods.attempt(Task(Verb.DELETE, "d", target=place, expected_id="b"))
    assert ended.code == 0, ended
    assert versions() == []
