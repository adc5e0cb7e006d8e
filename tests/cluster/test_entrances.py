# SPDX-License-Identifier: Apache-2.0
"""When a cluster has to answer SQL before it is reported to be Ready, and what is reported then."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.sql import (
    Entrance,
    LoginRefused,
    SqlError,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster import (
    health_check,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.entrances import (
    service_to_confirm,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.root_credential import (
    Login,
)

from tests.support.builders import conditions, resource, serving

LOG, TN = serving("LogSet", "mo", "3/3"), serving("DNSet", "mo")
CN, STOPPED_CN = serving("CNSet", "mo-tp", "2/2"), serving("CNSet", "mo-ap", "0/0")
PROXY = serving("ProxySet", "mo")
NO_CN = "SQL refused: no available CN server"
BEHIND = serving("DNSet", "mo", generation=3)


def cluster(ready: str) -> dict[str, Any]:
    made = resource("MatrixOneCluster")
    made["status"] = {"conditions": conditions(("Ready", ready, "AllSetsReady"))}
    return made


@pytest.mark.parametrize(
    ("ready", "children", "service"),
    [
        ("False", [LOG, TN, CN, PROXY], "mo-proxy"),
        ("Unknown", [LOG, TN, CN, PROXY], "mo-proxy"),
        ("False", [LOG, TN, STOPPED_CN, CN], "mo-tp-cn"),
        ("True", [LOG, TN, CN, PROXY], ""),
        ("False", [LOG, BEHIND, CN, PROXY], ""),
        ("False", [LOG, TN, STOPPED_CN, PROXY], ""),
        ("False", [LOG, TN, CN, serving("ProxySet", "mo", "0/0")], ""),
        ("False", [], ""),
    ],
    ids=[
        "all serve again",
        "it was unknown",
        "no proxy, the first group is stopped",
        "it is reported to be Ready",
        "a change is being applied",
        "all compute nodes are stopped",
        "the proxy is stopped",
        "a restore comes first",
    ],
)
def test_sql_is_asked_for_once_all_components_serve(
    ready: str, children: list[dict[str, Any]], service: str
) -> None:
    """An idle cluster that is Ready is not asked, and a stopped one cannot answer."""
    assert service_to_confirm(cluster(ready), children) == service


def no_cn(_entrance: Entrance, _statement: object, _seconds: float) -> None:
    error = SqlError("SQL refused")
    error.words = "no available CN server"
    raise error


def refuses(_entrance: Entrance, _statement: object, _seconds: float) -> None:
    raise LoginRefused("SQL at 10.0.0.1:6001 refused (error 1045)")


@pytest.mark.parametrize(
    ("answer", "faults"),
    [
        (lambda *_given: [(1,)], ""),
        (refuses, ""),
        (
            no_cn,
            f"an answer to a login through Service mo-proxy: {NO_CN}",
        ),
    ],
    ids=["answers", "refuses the password", "no compute node"],
)
def test_what_a_login_comes_to(monkeypatch: pytest.MonkeyPatch, answer: Any, faults: str) -> None:
    """Who refuses a password has read it from the database: that is an answer."""
    monkeypatch.setattr(health_check, "ask", answer)
    monkeypatch.setattr(health_check, "root_login", lambda *_given: Login("dump", "secret"))
    monkeypatch.setattr(
        health_check, "entrance", lambda *_given: Entrance("10.0.0.1", 6001, "", "")
    )
    children = {f"{one['kind']}/mo": one for one in (LOG, TN, CN, PROXY)}
    found = health_check.observe_sql(None, cluster("False"), children, 1.0)  # type: ignore[arg-type]
    assert found is not None
    assert found.faults == faults
    assert not found.unknown
