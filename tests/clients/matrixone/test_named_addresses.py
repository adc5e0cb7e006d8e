# SPDX-License-Identifier: Apache-2.0
"""Addresses and texts that a peer chooses: what is dialled, and what of them is shown.

Whoever answers for a log store names the others, and every compute and transaction node; without a
limit the operator would connect to its own ports and to the credentials service of its cloud.
"""

import socket
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    Deadline,
    HAKeeper,
    LockService,
    LogStore,
    QueryService,
    Reach,
    Refused,
    UnknownStore,
    Unreachable,
    addresses,
    answers,
    reading,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone.texts import (
    shown,
)

from tests.clients.matrixone import scripted

NOT_DIALLED = [
    "127.0.0.1:32001",
    "127.9.9.9:6789",
    "[::1]:8888",
    "0.0.0.0:1",
    "0.1.2.3:1",
    "[::]:1",
    "169.254.169.254:80",
    "[fe80::1]:80",
    "[fe80::1%lo]:80",
    "224.0.0.1:1",
    "[ff02::1]:1",
    "255.255.255.255:1",
    "[::ffff:127.0.0.1]:1",
    "[::ffff:169.254.169.254]:80",
    "localhost:8888",
    "10.96.0.1:443",
]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection is made at all."""

    def refuse(*_: object) -> socket.socket:
        raise AssertionError("something was dialled")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")


@pytest.mark.parametrize("address", NOT_DIALLED)
def test_what_a_peer_may_not_name_is_not_dialled(address: str) -> None:
    with (
        LockService(address) as service,
        pytest.raises(Unreachable, match=r"(is not dialled|resolving)"),
    ):
        service.can_restart("u", Deadline.after(5))


@pytest.mark.parametrize("address", ["10.0.0.1:1", "[fd00::1]:1", "192.0.2.1:1", "172.16.0.1:1"])
def test_addresses_of_pods_are_dialled(address: str) -> None:
    target = addresses.Address.parse(address)
    assert addresses.resolve(target, Deadline.after(5))
    with QueryService(address) as query, pytest.raises(AssertionError, match="dialled"):
        query.pipelines(Deadline.after(5))


def test_a_name_with_a_good_and_a_bad_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, ("127.0.0.1", 1)), (socket.AF_INET, ("10.0.0.1", 1))]
    monkeypatch.setattr(addresses, "_look_up", lambda _: found)
    target = addresses.Address.parse("name.example.com:1")
    assert addresses.resolve(target, Deadline.after(5)) == found[1:]
    assert addresses.resolve(target, Deadline.after(5), Reach.MACHINE) == found


def test_hakeeper_dials_what_it_was_given_and_not_what_stores_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The store that is given names one on this machine, which never hears of it."""
    monkeypatch.undo()
    asked: list[Any] = []

    def named(other: str) -> Any:
        replicas = {1: {"UUID": "a", "ServiceAddress": other}}
        info = {"LeaderID": 1, "Replicas": replicas}
        return scripted.replying(lambda one: scripted.fitting(one, ShardInfo=info))

    def counted(peer: socket.socket) -> None:
        asked.append(peer)

    with (
        scripted.serving(counted) as victim,
        scripted.serving(named(victim)) as given,
        HAKeeper(discovery=[given]) as hakeeper,
        pytest.raises(Unreachable, match=f"{victim} is not dialled"),
    ):
        hakeeper.cluster_details(Deadline.after(3))
    assert asked == []


@pytest.mark.parametrize(
    "text",
    [
        "host:" + "1" * 5000,
        "host:\u0661\u0662",
        "ho st:1",
        "host\x1b[31m:1",
        "host\n:1",
        "h" * 5000 + ":1",
        "\x1b" * 5000,
    ],
)
def test_texts_that_are_no_address_are_refused_in_few_words(text: str) -> None:
    with pytest.raises(Unreachable, match="no address of the form") as caught:
        LogStore(text)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


def test_an_error_of_a_peer_is_quoted_in_part() -> None:
    text = "bad\x1b[2J\r\n\u202e" + "x" * 100_000
    with pytest.raises(Refused) as caught:
        answers.require_accepted("call", 20101, text)
    assert str(caught.value).startswith("call: bad [2J   xxx")
    assert str(caught.value).endswith("x... (code 20101)")
    assert len(str(caught.value)) < 350
    assert caught.value.text == shown(text)


def test_a_long_error_keeps_its_meaning() -> None:
    with pytest.raises(UnknownStore):
        answers.require_accepted("call", 20101, "CN " + "x" * 1000 + " does not exist")


def test_ids_of_stores_are_bounded() -> None:
    uuid = "u\n" * 1000
    stores = [{"UUID": uuid, "Replicas": [{"LogShardInfo": {"Replicas": {1: uuid}}}]}]
    details = reading.cluster_details({"LogStores": stores, "CNStores": [{"UUID": uuid}]})
    members = details.log_stores[0].replicas[0].shard.members
    for found in (details.log_stores[0].uuid, details.cn_stores[0].uuid, members[1]):
        assert len(found) < 70
        assert found.isprintable()
