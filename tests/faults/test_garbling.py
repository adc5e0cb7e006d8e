# SPDX-License-Identifier: Apache-2.0
"""What the proxy of the fault harness makes of answers is none, and the same for the same seed."""

import json
import random

from faults.live.garbling import garbled, misshapen, misshapen_event

POD = {"kind": "Pod", "metadata": {"name": "a", "uid": "u"}, "spec": {}, "status": {}}
BODY = json.dumps(POD).encode()
LIST = json.dumps({"kind": "PodList", "metadata": {}, "items": [POD]}).encode()
SEEDS = 200


def rng(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - repeatable


def test_a_garbled_answer_is_not_the_answer() -> None:
    for seed in range(SEEDS):
        headers, body = garbled(BODY, rng(seed))
        assert headers or body != BODY
        assert (headers, body) == garbled(BODY, rng(seed))


def test_a_misshapen_object_is_an_object_that_differs() -> None:
    depths = set()
    for seed in range(SEEDS):
        found = misshapen(BODY, rng(seed))
        depths.add(found.count(b"{") > 1000)
        if found.count(b"{") < 1000:
            assert json.loads(found) != POD
    assert depths == {True, False}


def test_a_misshapen_list_has_no_items_or_an_odd_one() -> None:
    found = [misshapen(LIST, rng(seed)) for seed in range(SEEDS)]
    assert all(one != LIST for one in found)
    assert 0 < sum(b'"items"' not in one for one in found) < SEEDS / 2


def test_what_is_no_event_stays() -> None:
    line = json.dumps({"type": "ADDED", "object": POD}).encode() + b"\n"
    assert misshapen_event(b"{\n", rng(1)) == b"{\n"
    assert misshapen_event(line, rng(1)).endswith(b"\n")
