# SPDX-License-Identifier: Apache-2.0
"""Where HAKeeper is asked about the processes of a set."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.hakeeper import (
    of_dependency,
)

from tests.support import resources as r
from tests.support.answers import Answers

Json = dict[str, Any]


def log_store(namespace: str) -> Json:
    labels = {
        "matrixorigin.io/component": "LogSet",
        "matrixorigin.io/instance": "mo",
        "matrixorigin.io/namespace": namespace,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "mo-log-0", "namespace": namespace, "labels": labels},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }


def referring(namespace: str) -> Json:
    return r.dnset(deps={"logSet": {"metadata": {"name": "mo", "namespace": namespace}}})


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(["prod"], ["10.0.0.1:32001"]), (["others"], []), (None, [])],
    ids=["listed", "others listed", "none listed"],
)
def test_a_log_service_of_another_namespace_is_asked_only_where_it_allows_that(
    allowed: list[str] | None, expected: list[str]
) -> None:
    log_set = r.logset(allowedNamespaces=allowed)
    log_set["metadata"]["namespace"] = "victim"
    session = Answers(log_set, log_store("victim"))
    assert of_dependency(session, referring("victim")) == expected  # type: ignore[arg-type]


def test_the_log_service_of_the_own_namespace_costs_one_request() -> None:
    session = Answers(log_store("prod"))
    assert of_dependency(session, referring("prod")) == ["10.0.0.1:32001"]  # type: ignore[arg-type]
    assert session.asked == ["/api/v1/namespaces/prod/pods"]
