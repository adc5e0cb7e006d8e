# SPDX-License-Identifier: Apache-2.0
"""What the answers of an object store mean, and that a question leaves nothing behind."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.addresses import (
    Reach,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import (
    s3_requests as asking,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.s3_requests import (
    Bucket,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.signing import (
    Signer,
)

BEGUN = (200, "<InitiateMultipartUploadResult><UploadId>1&amp;+/=</UploadId></Initiate...>")
ADDED, ABORTED, GREETED = (200, ""), (204, ""), (403, "")
KEY = "data/mo/matrixone-operator-write-check"
BEGIN, GREETING = f"POST /{KEY}?uploads=", "HEAD /"
ADD, ABORT = (
    f"PUT /{KEY}?partNumber=1&uploadId=1%26%2B%2F%3D",
    f"DELETE /{KEY}?uploadId=1%26%2B%2F%3D",
)
Said = tuple[int, str]


def error(status: int, code: str) -> Said:
    return status, f"<Error><Code>{code}</Code><Message>no</Message></Error>"


@dataclass
class Store:
    """A server that says the same to each method, after a pause for some.

    Attributes:
        says: status and body by method.
        pauses: seconds by method.
        heard: the requests.
    """

    says: dict[str, Said]
    pauses: dict[str, float] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    bucket: Bucket = field(
        default_factory=lambda: Bucket(
            "", "data", "mo", True, Signer("id", "secret", "us-east-1"), Reach.MACHINE
        )
    )

    @contextmanager
    def serving(self) -> Iterator[Bucket]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                store.heard.append(f"{self.command} {self.path}")
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                time.sleep(store.pauses.get(self.command, 0))
                status, body = store.says[self.command]
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body.encode())

            do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - their names

            def log_message(self, *_arguments: Any) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            try:
                yield replace(self.bucket, endpoint=f"http://127.0.0.1:{server.server_port}")
            finally:
                server.shutdown()


def says(
    post: Said = BEGUN, put: Said = ADDED, delete: Said = ABORTED, head: Said = GREETED
) -> Any:
    return {"POST": post, "PUT": put, "DELETE": delete, "HEAD": head}


@pytest.mark.parametrize(
    ("said", "expected", "heard"),
    [
        (says(), StorageAnswer.WRITABLE, [BEGIN, ADD, ABORT]),
        (says(post=error(403, "AccessDenied")), StorageAnswer.DENIED, [BEGIN]),
        (says(post=error(403, "InvalidAccessKeyId")), StorageAnswer.DENIED, [BEGIN]),
        (says(post=error(404, "NoSuchBucket")), StorageAnswer.NO_BUCKET, [BEGIN]),
        (says(post=error(500, "InternalError")), StorageAnswer.REFUSED, [BEGIN]),
        (says(post=error(501, "NotImplemented")), StorageAnswer.REFUSED, [BEGIN]),
        (says(post=(200, "<html>")), StorageAnswer.REFUSED, [BEGIN]),
        (says(post=(507, "")), StorageAnswer.FULL, [BEGIN]),
        (says(put=error(507, "XMinioStorageFull")), StorageAnswer.FULL, [BEGIN, ADD, ABORT]),
        (says(put=error(403, "QuotaExceeded")), StorageAnswer.FULL, [BEGIN, ADD, ABORT]),
        (says(put=error(500, "InternalError")), StorageAnswer.REFUSED, [BEGIN, ADD, ABORT]),
        (says(delete=error(404, "NoSuchUpload")), StorageAnswer.WRITABLE, [BEGIN, ADD, ABORT]),
        (says(delete=error(403, "AccessDenied")), StorageAnswer.NOT_ABORTED, [BEGIN, ADD, ABORT]),
        (says(post=error(503, "SlowDown")), StorageAnswer.ANSWERS, [BEGIN, GREETING]),
        (says(post=error(429, "TooManyRequests")), StorageAnswer.ANSWERS, [BEGIN, GREETING]),
        (says(post=error(403, "RequestTimeTooSkewed")), StorageAnswer.ANSWERS, [BEGIN, GREETING]),
        (says(post=(502, "<html>"), head=(502, "")), StorageAnswer.SILENT, [BEGIN, GREETING]),
        (says(post=(502, "<html>")), StorageAnswer.ANSWERS, [BEGIN, GREETING]),
    ],
)
def test_what_answers_mean(said: Any, expected: StorageAnswer, heard: list[str]) -> None:
    store = Store(said)
    with store.serving() as bucket:
        assert bucket.ask(5.0) is expected
    assert store.heard == heard


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (200, StorageAnswer.ANSWERS),
        (403, StorageAnswer.ANSWERS),
        (500, StorageAnswer.SILENT),
        (503, StorageAnswer.SILENT),
    ],
)
def test_without_a_credential_any_answer_is_asked_for(head: int, expected: StorageAnswer) -> None:
    store = Store(says(head=(head, "")))
    with store.serving() as bucket:
        assert replace(bucket, signer=None).ask(5.0) is expected
    assert store.heard == [GREETING]


def test_a_store_that_hangs_on_what_is_written_has_its_upload_aborted() -> None:
    store = Store(says(), pauses={"PUT": 3.0})
    with store.serving() as bucket:
        began = time.monotonic()
        assert bucket.ask(1.0) is StorageAnswer.REFUSED
        assert time.monotonic() - began < 2.0
    assert store.heard == [BEGIN, ADD, ABORT]


def test_a_store_that_hangs_is_silent() -> None:
    store = Store(says(), pauses={"POST": 1.0, "HEAD": 1.0})
    with store.serving() as bucket:
        assert bucket.ask(0.3) is StorageAnswer.SILENT


@pytest.mark.parametrize(
    ("changed", "host", "path"),
    [
        ({}, "s3.example.com", "/data/mo/"),
        ({"prefix": ""}, "s3.example.com", "/data/"),
        ({"by_path": False}, "data.s3.example.com", "/mo/"),
        ({"by_path": False, "prefix": ""}, "data.s3.example.com", "/"),
        ({"prefix": "a b/\u00e9"}, "s3.example.com", "/data/a%20b/%C3%A9/"),
    ],
)
def test_where_the_upload_is(
    monkeypatch: pytest.MonkeyPatch, changed: Any, host: str, path: str
) -> None:
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(
        asking, "ask", lambda to, what, *_: asked.append((to.authority, what.target))
    )
    replace(Store({}).bucket, endpoint="https://s3.example.com", **changed).ask(1.0)
    key = "matrixone-operator-write-check?uploads="
    assert asked == [(host, f"{path}{key}"), ("s3.example.com", "/")]
