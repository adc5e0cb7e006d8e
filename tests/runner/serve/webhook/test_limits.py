# SPDX-License-Identifier: Apache-2.0
"""Whoever reaches the webhook's port gets no more of the process than its limits."""

import asyncio
import contextlib
import datetime
import gzip
import json
import ssl
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.serve import listening
from ansible_operator.serve.webhook import Terms, Verdict, WebhookSettings, request_limits
from ansible_operator.serve.webhook.authority import make_credentials
from ansible_operator.serve.webhook.review import (
    LARGEST_REVIEW,
    MOST_VALUES,
    MalformedReviewError,
    parse_review,
)
from ansible_operator.serve.webhook.service import WebhookServer

KIND = GroupVersionKind("example.com", "v1", "Thing")
PATH = "/validate-example-com-v1-thing"
REVIEW = {"request": {"uid": "u", "operation": "CREATE", "object": {}, "namespace": "n"}}


class Judge:
    """Admits everything, after a while, and counts."""

    def __init__(self) -> None:
        self.seconds, self.now, self.most, self.calls = 0.0, 0, 0, 0

    async def __call__(self, _question: Any, _is_default: bool, _seconds: float) -> Verdict:
        self.now += 1
        self.calls += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        return Verdict()


class Webhook:
    """A running server and how to talk to it."""

    def __init__(self, server: WebhookServer, judge: Judge) -> None:
        self.server, self.judge = server, judge

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return await asyncio.open_connection("127.0.0.1", self.server.port, ssl=context)

    async def post(
        self, body: bytes, *, length: int | None = None, headers: str = "", query: str = ""
    ) -> tuple[int, str]:
        """Send a review; return status and text of the answer."""
        reader, writer = await self.connect()
        length = len(body) if length is None else length
        head = f"POST {PATH}{query} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n"
        writer.write(f"{head}Connection: close\r\n{headers}\r\n".encode() + body)
        try:
            answer = (await reader.read()).decode()
        finally:
            writer.close()
        return int(answer.split()[1]), answer.partition("\r\n\r\n")[2]


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    now = datetime.datetime.now(datetime.UTC)
    pair = make_credentials(["127.0.0.1"], now).serving
    settings = WebhookSettings(host="127.0.0.1", port=0, terms=Terms(address={}))
    judge = Judge()
    async with WebhookServer(settings, pair, [KIND], judge) as server:
        yield Webhook(server, judge)


def review(**fields: Any) -> bytes:
    return json.dumps({"request": {**REVIEW["request"], **fields}}).encode()


async def test_a_review_is_answered(webhook: Webhook) -> None:
    status, text = await webhook.post(review())
    assert status == 200
    assert json.loads(text)["response"] == {"uid": "u", "allowed": True}


async def test_the_largest_object_that_could_be_stored_is_answered(webhook: Webhook) -> None:
    half = {"spec": {"config": "x" * (3 << 19)}}
    status, _ = await webhook.post(review(operation="UPDATE", object=half, oldObject=half))
    assert status == 200


async def test_what_says_that_it_is_too_large_is_not_read(webhook: Webhook) -> None:
    status, text = await webhook.post(b"", length=LARGEST_REVIEW + 1)
    assert (status, text) == (400, f"longer than {LARGEST_REVIEW} bytes\n")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" + b"[]," * 1_300_000 + b"[]]", "more than 200000 values"),
        (b"[" * 1_000_000, "more than 200000 values"),
        (b"[" * 100_000, "more than 12000 levels"),
        (b'{"a":' * 50_000, "more than 12000 levels"),
        (b'"' + b"x" * (LARGEST_REVIEW - 2) + b'"', "not an AdmissionReview"),
        (b"x" * (LARGEST_REVIEW + 1), "longer than"),
    ],
)
def test_bodies_are_bounded_before_they_are_parsed(body: bytes, why: str) -> None:
    tracemalloc.start()
    begun = time.monotonic()
    with pytest.raises(MalformedReviewError, match=why):
        parse_review(body, KIND)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.monotonic() - begun < 1
    assert most < 48 << 20


def test_as_many_values_as_are_allowed_need_little_memory() -> None:
    values = {"a": [[]] * (MOST_VALUES // 2 - 20)}
    body = review(object=values)
    tracemalloc.start()
    parse_review(body, KIND)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 48 << 20


async def test_a_packed_body_is_not_unpacked(webhook: Webhook) -> None:
    bomb = gzip.compress(b" " * (200 << 20))
    tracemalloc.start()
    status, _ = await webhook.post(bomb, headers="Content-Encoding: gzip\r\n")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert status == 400
    assert most < 48 << 20


async def test_a_body_that_does_not_come_is_not_awaited(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.3)
    begun = time.monotonic()
    status, text = await webhook.post(b"{", length=100, query="?timeout=30s")
    assert (status, text) == (500, "the review was not sent within 0.3 s\n")
    assert time.monotonic() - begun < 2


async def test_slow_bodies_do_not_keep_others_out(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there is room for send nothing; a review behind them is answered in time."""
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.3)
    slow = [
        asyncio.create_task(webhook.post(b"{", length=100, query="?timeout=30s"))
        for _ in range(request_limits.READING)
    ]
    await asyncio.sleep(0.2)
    status, _ = await webhook.post(review())
    assert status == 200
    assert {status for status, _ in await asyncio.gather(*slow)} == {500}


async def test_few_reviews_are_judged_at_the_same_time(webhook: Webhook) -> None:
    webhook.judge.seconds = 0.05
    answers = await asyncio.gather(*(webhook.post(review()) for _ in range(40)))
    assert {status for status, _ in answers} == {200}
    assert webhook.judge.most == request_limits.JUDGING


async def test_too_many_reviews_are_not_awaited_forever(webhook: Webhook) -> None:
    webhook.judge.seconds = 0.6
    posts = (webhook.post(review(), query="?timeout=1s") for _ in range(3 * request_limits.JUDGING))
    answers = await asyncio.gather(*posts)
    refused = [text for status, text in answers if status == 500]
    assert set(refused) == {"there are too many reviews at the same time\n"}
    assert len(refused) >= request_limits.JUDGING
    assert webhook.judge.now == 0
    webhook.judge.seconds = 0
    assert (await webhook.post(review()))[0] == 200  # no slot was lost


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"POST / HTTP/1.1\r\nHost: a\r\n"])
async def test_a_connection_without_a_request_is_closed(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(listening, "FIRST_REQUEST_SECONDS", 0.3)
    reader, writer = await webhook.connect()
    writer.write(sent)
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(3):
            await reader.read()
    assert time.monotonic() - begun < 2
    writer.close()


async def test_a_connection_stays_after_its_first_request(
    webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "FIRST_REQUEST_SECONDS", 0.3)
    reader, writer = await webhook.connect()
    body = review()
    request = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    for _ in range(2):
        writer.write(request.encode() + body)
        assert b"200" in await reader.readline()
        await reader.readuntil(b'"allowed":true}}')
        await asyncio.sleep(0.5)
    writer.close()


async def test_tls_that_is_not_agreed_on_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HANDSHAKE_SECONDS", 0.3)
    pair = make_credentials(["127.0.0.1"], datetime.datetime.now(datetime.UTC)).serving
    settings = WebhookSettings(host="127.0.0.1", port=0, terms=Terms(address={}))
    async with WebhookServer(settings, pair, [KIND], Judge()) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(3):
                await reader.read()
        assert time.monotonic() - begun < 2
        writer.close()


async def test_connections_are_counted(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 3)
    held = [await webhook.connect() for _ in range(3)]
    reader, writer = await webhook.connect()
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(2):
            assert await reader.read() == b""
    for _, one in (*held, (reader, writer)):
        one.close()
    await asyncio.sleep(0.1)
    assert (await webhook.post(review()))[0] == 200
