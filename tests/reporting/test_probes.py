# SPDX-License-Identifier: Apache-2.0
"""What the question between two passes costs: it is asked every ten seconds, of every set."""

import time
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.storage_answer import (
    StorageAnswer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import timestamp
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.matrixone import (
    ClusterDetails,
    TimedOut,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.compute import (
    health_check as compute,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    health_check as logservice,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice import (
    storage_check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.logservice.view import View
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.precheck.health_check import (
    is_as_reported,
    observe_health,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.proxy import (
    health_check as proxy,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.transaction import (
    health_check as transaction,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.plans import (
    PAUSE_ANNOTATIONS,
)

from tests.support import resources as r
from tests.support.answers import Answers
from tests.support.builders import conditions, pod

Json = dict[str, Any]
SETS = {
    names.LOG_SET: (r.logset, "mo-log-0", 1),
    names.DN_SET: (r.dnset, "mo-dn-0", 2),
    names.CN_SET: (r.cnset, "mo-tp-cn-0", 2),
    names.PROXY_SET: (r.proxyset, "mo-proxy-0", 2),
}
REACHED = ("StorageReachable", "True", "StorageAnswers")
SILENT = ("StorageReachable", "False", "StorageUnreachable")
WRITABLE = ("StorageWritable", "True", "WritesAccepted")
FULL = ("StorageWritable", "False", "StorageFull")
NOTHING_KNOWN = ClusterDetails((), (), (), (), ())


def ready(kind: str) -> Json:
    found = SETS[kind][0]()
    found["metadata"]["generation"] = 2
    reached = [REACHED, WRITABLE] if kind == names.LOG_SET else []
    found["status"] = {"conditions": conditions(("Ready", "True", "EnoughReadyStores"), *reached)}
    return found


def a_pod(kind: str, resource: Json) -> Json:
    """Return a Pod that became ready just now, which HAKeeper need not know yet."""
    labels = names.selector_labels(kind, resource["metadata"]["name"], "prod")
    found = pod(SETS[kind][1], since=timestamp(time.time()), metadata={"labels": labels})
    found["status"]["podIP"] = "10.0.0.1"
    return {"apiVersion": "v1", "kind": "Pod", **found}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """HAKeeper and proxies answer that nothing is wrong; who was asked is noted."""
    found: list[str] = []

    def details(_addresses: Any, _deadline: Any) -> Any:
        found.append("HAKeeper")
        return NOTHING_KNOWN

    def view(_addresses: Any, _deadline: Any, _seconds: float) -> View:
        found.append("HAKeeper")
        return View(frozenset(), {}, [], frozenset())

    def greeted(_addresses: Any, _seconds: float) -> list[str]:
        found.append("proxies")
        return []

    for module in (compute, transaction, proxy):
        monkeypatch.setattr(module, "ask_details", details)
    monkeypatch.setattr(logservice, "ask", view)
    monkeypatch.setattr(logservice, "ask_storage", lambda *_: (StorageAnswer.WRITABLE, None))
    monkeypatch.setattr(proxy, "ungreeted", greeted)
    return found


@pytest.mark.parametrize("kind", SETS)
def test_a_question_reads_a_list_or_two_and_writes_nothing(kind: str, asked: list[str]) -> None:
    resource = ready(kind)
    session = Answers(a_pod(kind, resource), a_pod(names.LOG_SET, r.logset()))

    assert is_as_reported(session, resource)  # type: ignore[arg-type]

    assert session.written == []
    claims = ["/api/v1/namespaces/prod/persistentvolumeclaims"] if kind == names.LOG_SET else []
    assert session.asked == claims + ["/api/v1/namespaces/prod/pods"] * SETS[kind][2]
    assert asked == (["proxies"] if kind == names.PROXY_SET else []) + ["HAKeeper"]


@pytest.mark.parametrize("why", ["paused", "not ready", "no replicas"])
@pytest.mark.parametrize("kind", SETS)
def test_nobody_is_asked_where_the_answer_changes_nothing(
    kind: str, why: str, asked: list[str]
) -> None:
    resource = ready(kind)
    if why == "paused":
        resource["metadata"]["annotations"] = {PAUSE_ANNOTATIONS[0]: "true"}
    elif why == "not ready":
        resource["status"]["conditions"][0]["status"] = "False"
    else:
        resource["spec"]["replicas"] = 0
    session = Answers()

    assert is_as_reported(session, resource)  # type: ignore[arg-type]
    assert session.asked == session.written == asked == []


@pytest.mark.parametrize("kind", SETS)
def test_no_answer_asks_for_a_pass(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def silence(*_arguments: Any) -> Any:
        raise TimedOut("no answer")

    for module in (compute, transaction, proxy):
        monkeypatch.setattr(module, "ask_details", silence)
    monkeypatch.setattr(logservice, "ask", silence)
    monkeypatch.setattr(proxy, "ungreeted", lambda *_: [])
    resource = ready(kind)
    session = Answers(a_pod(kind, resource), a_pod(names.LOG_SET, r.logset()))

    assert not is_as_reported(session, resource)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "answer", "expected"),
    [
        ([REACHED], "answers", True),
        ([REACHED], "silent", False),
        ([SILENT], "silent", True),
        ([SILENT], "answers", False),
        ([], "answers", False),
        ([], "silent", True),
        ([REACHED], "writable", False),
        ([REACHED], "denied", True),
        ([REACHED, WRITABLE], "writable", True),
        ([REACHED, WRITABLE], "answers", True),
        ([REACHED, WRITABLE], "full", False),
        ([REACHED, FULL], "full", True),
        ([REACHED, FULL], "refused", False),
        ([REACHED, FULL], "writable", False),
    ],
)
def test_an_object_store_asks_for_a_pass_when_it_answers_otherwise(
    before: list[tuple[str, str, str]],
    answer: str,
    expected: bool,
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that never answered, or never took a part, may be out of the operator's reach only."""
    monkeypatch.setattr(logservice, "ask_storage", lambda *_: (StorageAnswer(answer), None))
    resource = ready(names.LOG_SET)
    resource["status"]["conditions"] = conditions(("Ready", "True", ""), *before)
    session = Answers(a_pod(names.LOG_SET, resource))

    assert is_as_reported(session, resource) is expected  # type: ignore[arg-type]
    assert asked == ["HAKeeper"]


@pytest.mark.parametrize(
    ("going", "reported", "expected"),
    [(False, False, True), (True, False, False), (True, True, True), (False, True, False)],
    ids=["none is deleted", "one is deleted", "told already", "it is gone by now"],
)
def test_a_claim_that_somebody_deletes_asks_for_a_pass(
    going: bool, reported: bool, expected: bool, asked: list[str]
) -> None:
    """No event tells of claims, which belong to no set."""
    resource = ready(names.LOG_SET)
    if reported:
        resource["status"]["conditions"] += conditions(("Degraded", "True", "VolumeDeleted"))
    metadata: Json = {"name": "mo-data-mo-log-0", "namespace": "prod", "uid": "c-0"}
    if going:
        metadata["deletionTimestamp"] = "2026-01-02T03:04:00Z"
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata}
    session = Answers(a_pod(names.LOG_SET, resource), claim)

    assert is_as_reported(session, resource) is expected  # type: ignore[arg-type]
    assert asked == (["HAKeeper"] if expected else [])


@pytest.mark.parametrize("ready", [None, True])
def test_a_folder_is_known_by_the_pod_that_writes_to_it(
    asked: list[str], monkeypatch: pytest.MonkeyPatch, ready: bool | None
) -> None:
    monkeypatch.setattr(logservice, "ask_storage", storage_check.ask_storage)
    resource = ready_in_a_folder()
    check = {"apiVersion": "v1", "kind": "Pod", **pod("mo-log-storage-check-1")}
    session = Answers(*([check] if ready else []))

    found = observe_health(session, resource, [a_pod(names.LOG_SET, resource)], 1.0)  # type: ignore[arg-type]

    assert found.storage is (StorageAnswer.WRITABLE if ready else None)
    assert session.asked == ["/api/v1/namespaces/prod/pods"]
    assert session.written == []


def ready_in_a_folder() -> Json:
    found = ready(names.LOG_SET)
    found["spec"]["sharedStorage"] = {"fileSystem": {"path": "/shared"}}
    return found
