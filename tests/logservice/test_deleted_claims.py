# SPDX-License-Identifier: Apache-2.0
"""Claims that somebody deletes although log stores run on them."""

import json
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.deleted_claims import (
    deleted_claims,
    require_kept,
    told,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.left_stores import (
    LeftStore,
    annotation,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.volume_keeper import (
    VolumeKeeper,
)

from tests.support.builders import resource, workload

Json = dict[str, Any]
AT = {"deletionTimestamp": "2026-01-02T03:04:00Z"}
DATA, SHARED = "mo-data-mo-log-1", "mo-shared"
REPAIR = {"pod": "mo-log-1", "ordinal": 1, "incarnation": 1, "began": 0, "claims": {DATA: DATA}}


def claim(name: str, *, going: bool = True) -> Json:
    metadata = {"name": name, "namespace": "prod", "uid": name, **(AT if going else {})}
    return {"metadata": metadata, "spec": {"volumeName": f"pv-of-{name}"}}


def log_set(**metadata: Any) -> Json:
    made = resource()
    made["metadata"].update(metadata)
    return made


@pytest.mark.parametrize(
    ("subject", "claims", "found"),
    [
        (log_set(), [claim(DATA), claim("mo-data-mo-log-0", going=False)], [DATA]),
        (log_set(), [claim(SHARED)], [SHARED]),
        (log_set(), [claim("restored-mo-shared"), claim(f"{DATA}-copy")], []),
        (log_set(), [claim("mo-data-mo-log-3")], []),
        (log_set(**AT), [claim(DATA)], []),
        (log_set(annotations=annotation([LeftStore("mo-log-1", {DATA: DATA})])), [claim(DATA)], []),
        (
            log_set(annotations={"logset.matrixorigin.io/repair": json.dumps(REPAIR)}),
            [claim(DATA), claim(SHARED)],
            [SHARED],
        ),
    ],
    ids=[
        "data",
        "shared folder",
        "copies",
        "Pod that left ends",
        "LogSet goes",
        "store left",
        "store is replaced",
    ],
)
def test_what_somebody_else_deletes(subject: Json, claims: list[Json], found: list[str]) -> None:
    listed = deleted_claims(subject, workload(), claims)
    assert [one["metadata"]["name"] for one in listed] == found


def test_the_claims_of_another_template_count_too() -> None:
    live = workload()
    live["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "logs"}}]
    assert deleted_claims(log_set(), live, [claim("logs-mo-log-0")])


@pytest.mark.parametrize(
    ("replicas", "present", "going", "is_refused"),
    [(0, 3, True, True), (0, 3, False, False), (0, 0, True, False), (3, 3, True, False)],
    ids=["would lose it", "loses nothing", "has stopped", "goes on"],
)
def test_a_log_service_that_would_lose_volumes_is_not_stopped(
    replicas: int, present: int, going: bool, is_refused: bool
) -> None:
    subject, claims = resource(spec={"replicas": replicas}), [claim(SHARED, going=going)]
    if not is_refused:
        require_kept(subject, workload(wanted=present), claims)
        return
    with pytest.raises(InvalidSpec, match=r"cannot be 0: somebody has deleted .* mo-shared"):
        require_kept(subject, workload(wanted=present), claims)


def test_the_status_names_claims_and_volumes() -> None:
    assert told([]) == ""
    assert told([claim(DATA), claim(SHARED)]) == (
        "somebody has deleted PersistentVolumeClaims that are in use: mo-data-mo-log-1 "
        "(PersistentVolume pv-of-mo-data-mo-log-1), mo-shared (PersistentVolume pv-of-mo-shared); "
        "each is gone when no Pod mounts it any more"
    )


class Volumes:
    """One PersistentVolume with its reclaim policy."""

    def __init__(self, policy: str, refusal: str = "") -> None:
        self.policy, self.refusal = policy, refusal
        self.kept: list[str] = []

    def volumes(self, claims: Any) -> list[Json]:
        assert len(claims) == 1
        spec = {"persistentVolumeReclaimPolicy": self.policy}
        return [{"metadata": {"name": "pv-1"}, "spec": spec}] if self.policy else []

    def keep(self, _volume: Any, pod: str, annotations: Any) -> str:
        assert annotations == {}, "it is kept for good"
        self.kept.append(pod)
        return self.refusal


@pytest.mark.parametrize(
    ("volumes", "kept", "events"),
    [
        (Volumes("Delete"), [DATA], ["VolumeKept"]),
        (Volumes("Retain"), [], []),
        (Volumes("Delete", "forbidden"), [DATA], ["VolumeNotKept"]),
        (Volumes(""), [], ["VolumeNotKept"]),
    ],
    ids=["kept", "kept already", "refused", "not readable"],
)
def test_the_volume_outlives_its_claim(
    volumes: Volumes, kept: list[str], events: list[str]
) -> None:
    keeper = VolumeKeeper(log_set(), volumes)  # type: ignore[arg-type]
    keeper.keep_deleted([claim(DATA)])
    assert volumes.kept == kept
    assert [one["reason"] for one in keeper.events] == events
