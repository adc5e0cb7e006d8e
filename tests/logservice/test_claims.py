# SPDX-License-Identifier: Apache-2.0
"""Kept volumes tell what their log service was; whoever finds them carries on."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.claims import (
    decided_earlier,
    marks,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.left_stores import (
    LeftStore,
    annotation,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import resources as r
from tests.support.builders import resource, workload
from tests.support.passes import (
    plan_of,
)

Json = dict[str, Any]
BOOTSTRAP = "logset.matrixorigin.io/bootstrap"
INCARNATIONS = "logset.matrixorigin.io/incarnations"
REPAIR = "logset.matrixorigin.io/repair"
THREE = [{"ordinal": ordinal, "replicaId": 131072 + ordinal} for ordinal in range(3)]


def claim(ordinal: int, numbers: Json | None = None, members: Any = THREE, **more: Any) -> Json:
    annotations = {}
    if numbers is not None:
        annotations = {BOOTSTRAP: json.dumps(members), INCARNATIONS: json.dumps(numbers)}
    metadata = {"name": f"mo-data-mo-log-{ordinal}", "namespace": "prod", "uid": f"c-{ordinal}"}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "annotations": annotations, **more},
        "spec": {"resources": {"requests": {"storage": "10Gi"}}},
    }


@pytest.mark.parametrize(
    ("claims", "incarnations"),
    [
        pytest.param([claim(n, {}) for n in range(3)], {}, id="none was replaced"),
        pytest.param([claim(n, {"1": 2}) for n in range(3)], {"1": 2}, id="one was, twice"),
        pytest.param(
            [claim(0, {"1": 1}), claim(1, {}), claim(2, {"1": 1})],
            {},
            id="its old volume is still there: the deletion came in between",
        ),
        pytest.param([claim(0, {}), claim(2, {})], {"1": 1}, id="a volume is lost"),
        pytest.param(
            [claim(0, {"1": 4}), claim(2, {"1": 4})], {"1": 5}, id="that of a later incarnation is"
        ),
        pytest.param(
            [claim(0, {"1": 3}), claim(1), claim(2, {"1": 3})],
            {"1": 3},
            id="a claim was made just before the end",
        ),
        pytest.param(
            [claim(0, {}), claim(1, {}), claim(2, {}, deletionTimestamp="now")],
            {"2": 1},
            id="a claim is going",
        ),
        pytest.param([claim(n, {}) for n in range(5)], {}, id="more stores than founders"),
    ],
)
def test_incarnations_are_read_back(claims, incarnations):
    found = decided_earlier(resource("LogSet"), claims)

    assert found == {"bootstrap": THREE, "incarnations": incarnations}


@pytest.mark.parametrize(
    "claims",
    [
        [],
        [claim(0), claim(1)],
        [claim(0, {}, members=[])],
        [claim(0, {}, members=[{"ordinal": "x"}])],
        [claim(0, {"0": "many"})],
        [claim(0, {}, name="mo-data-more-log-0")],
        [claim(0, {}, name="mo-shared")],
    ],
)
def test_claims_that_tell_nothing_decide_nothing(claims):
    assert decided_earlier(resource("LogSet"), claims) is None


@given(
    st.dictionaries(st.integers(0, 4), st.integers(0, 9), min_size=1),
    st.sets(st.integers(0, 4)),
)
def test_no_founder_without_its_volume_is_one_that_was_there_before(numbers, lost):
    """Whichever volumes are lost, no store takes an identity again that had data."""
    known = {str(ordinal): number for ordinal, number in numbers.items() if number}
    left = [claim(ordinal, known) for ordinal in range(5) if ordinal not in lost]
    found = decided_earlier(resource("LogSet", replicas=5), left)
    if not left:
        assert found is None
        return
    assert found is not None
    for ordinal in range(5):
        now, before = found["incarnations"].get(str(ordinal), 0), known.get(str(ordinal), 0)
        if ordinal not in lost:
            assert now == before
        elif ordinal < 3 or before:
            assert now > before


def test_a_new_log_set_of_another_size_keeps_the_founders():
    """Three stores where there was one: the two new ones found nothing."""
    made = r.logset(replicas=3)
    made["metadata"]["uid"] = "u-2"
    kept = claim(0, {}, THREE[:1], name=f"mo-data-{made['metadata']['name']}-log-0")

    plan = plan_of(made, {"self": made, "claims": [kept]}, "")

    annotations = plan["records"][0]["metadata"]["annotations"]
    assert json.loads(annotations[BOOTSTRAP]) == THREE[:1]


def test_a_new_log_set_records_and_renders_what_its_volumes_hold():
    made = r.logset(replicas=3)
    made["metadata"]["uid"] = "u-2"
    name = made["metadata"]["name"]
    kept = [claim(n, {"2": 1}, name=f"mo-data-{name}-log-{n}") for n in range(3)]

    plan = plan_of(made, {"self": made, "claims": kept, "bucket": r.GRANTED}, "")

    annotations = plan["records"][0]["metadata"]["annotations"]
    assert json.loads(annotations[INCARNATIONS]) == {"2": 1}
    gossip = next(one for one in plan["objects"] if one["metadata"]["name"].endswith("-gossip"))
    assert gossip["data"]["incarnations"] == "2 1\n"


def test_claims_are_marked_once_and_those_of_stores_that_are_replaced_or_left_are_not():
    repair = {"pod": "mo-log-1", "ordinal": 1, "incarnation": 1, "began": 0.0, "claims": {}}
    live = resource("LogSet")
    live["metadata"]["annotations"] = {
        BOOTSTRAP: json.dumps(THREE),
        INCARNATIONS: json.dumps({"1": 1}),
        REPAIR: json.dumps({**repair, "claims": {"mo-data-mo-log-1": "c-1"}}),
        **annotation([LeftStore("mo-log-3", {"mo-data-mo-log-3": "c-3"})]),
    }
    decided = {"bootstrap": THREE, "incarnations": {"1": 1}}

    made = marks(live, [claim(number) for number in range(4)], decided)

    assert [one["metadata"]["name"] for one in made] == ["mo-data-mo-log-0", "mo-data-mo-log-2"]
    marked = [claim(n, annotations=made[0]["metadata"]["annotations"]) for n in (0, 2)]
    assert marks(live, marked, decided) == []


def test_a_pass_marks_the_claims_as_they_were_seen():
    """What the round of this very pass begins is not yet true of the claims that were seen."""
    live = r.logset(replicas=3)
    live["metadata"]["uid"] = "u-2"
    live["metadata"]["annotations"] = {BOOTSTRAP: json.dumps(THREE)}
    name = live["metadata"]["name"]
    seen = {
        "self": live,
        "claims": [claim(0, name=f"mo-data-{name}-log-0")],
        "workload": workload(name=f"{name}-log"),
        "results": {"incarnations": {"0": 1}},
    }

    plan = plan_of(live, seen, "")

    (mark,) = plan["patches"]
    assert json.loads(mark["metadata"]["annotations"][INCARNATIONS]) == {}
