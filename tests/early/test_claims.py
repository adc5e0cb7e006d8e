# SPDX-License-Identifier: Apache-2.0
"""What is refused at the door, and which claims stay when Pods or the resource go."""

import time
from collections.abc import Callable

import pytest

from testbed.api import ApiError
from tests.early.conftest import Space, claims, uid_of
from tests.early.resources import DELETE, KIND, OLD_IMAGE, Json, early
from tests.support.waiting import eventually

pytestmark = pytest.mark.api

Make = Callable[..., Json]


@pytest.mark.parametrize("field", ["image", "dataVolumeCap", "logVolumeCap"])
def test_t07_t08_what_is_needed_is_asked_for(space: Space, field: str) -> None:
    with pytest.raises(ApiError, match=rf"spec.{field}: Required value"):
        space.apply(early("bad", **{field: DELETE}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"replicas": -1}, "spec.replicas"),
        ({"dataVolumeCap": "lots"}, "spec.dataVolumeCap"),
        ({"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy"),
    ],
    ids=["T9 negative", "T7 malformed", "pull policy"],
)
def test_t07_t09_what_means_nothing_is_refused(space: Space, change: Json, message: str) -> None:
    with pytest.raises(ApiError, match=message):
        space.apply(early("bad", **change))


def test_t06_pod_name_may_be_left_out(space: Space, made: Make) -> None:
    made(early("plain", podName=DELETE))
    env = space.get("pod", "plain-0")["spec"]["containers"][0]["env"]
    assert env[2]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"


def test_t11_t12_t13_claims_and_scaling(space: Space, made: Make) -> None:
    """Up nothing goes; down only what is surplus, where asked for; to 0 nothing."""
    made(early("old", image=OLD_IMAGE))
    both = {f"{kind}-old-{n}" for n in range(3) for kind in ("data", "log")}
    first = {"data-old-0", "log-old-0"}

    space.patch("old", replicas=3)
    eventually(lambda: claims(space, "old") == both)
    uids = {name: uid_of(space.get("pvc", name)) for name in both}
    space.settled("old")
    space.patch("old", replicas=1)
    space.settled("old")
    eventually(lambda: not space.get("pod", "old-2"))
    assert claims(space, "old") == both, "T11: without the option they stay"

    space.patch("old", deleteOrphanPvc=True, replicas=3)
    space.settled("old")
    assert {name: uid_of(space.get("pvc", name)) for name in claims(space, "old")} == uids, "T12 up"
    space.patch("old", replicas=1)
    eventually(lambda: claims(space, "old") == first)

    space.patch("old", replicas=0)
    space.settled("old")
    eventually(lambda: not space.get("pod", "old-0"))
    time.sleep(2)
    assert {name: uid_of(space.get("pvc", name)) for name in claims(space, "old")} == {
        name: uids[name] for name in first
    }, "T13"


@pytest.mark.parametrize("later", [False, True], ids=["T27 from the start", "T28 set later"])
def test_t27_t28_claims_stay_where_the_flag_says_so(space: Space, made: Make, later: bool) -> None:
    name = "later" if later else "kept"
    made(early(name, disablePVCDeletionFinalizer=not later))
    if later:
        space.patch(name, disablePVCDeletionFinalizer=True)
    space.kubectl("delete", KIND, name, "--timeout=60s")

    eventually(lambda: not space.named(name, "statefulset,service,pod,configmap"))
    assert claims(space, name) == {f"data-{name}-0", f"log-{name}-0"}
    assert not any(
        space.get("pvc", claim)["metadata"].get("deletionTimestamp")
        for claim in claims(space, name)
    )
