# SPDX-License-Identifier: Apache-2.0
"""What Argo CD says of our resources, and what its actions do, as its Lua 5.1 runs them."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.kstatus import (
    with_kstatus,
)
from lupa import lua51

from tests.support.places import ROOT

Json = dict[str, Any]
GIVEN = yaml.safe_load((ROOT / "deploy" / "argocd" / "argocd-cm.yaml").read_text())["data"]
((PATTERN, CHECKS),) = yaml.safe_load(GIVEN["resource.customizations"]).items()
ACTIONS = yaml.safe_load(
    GIVEN["resource.customizations.actions.core.matrixorigin.io_MatrixOneCluster"]
)
ABSENT_IN_ARGO = ("io", "string", "math", "debug", "coroutine", "package", "require", "python")
"""Globals of Lua that Argo CD does not load, or not whole (util/lua/lua.go of it)."""

READY = ("Ready", "True", "AllSetsReady", "all components serve")
SYNCED = ("Synced", "True", "AllSetsSynced", "")
STILL = ("Progressing", "False", "Settled", "")
FINE = ("Degraded", "False", "AsExpected", "")


def run(script: str, resource: Json, *, has_os: bool = False) -> Any:
    """Run a script as Argo CD does, with the resource as ``obj``; return plain values."""
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    space = lua.globals()
    clock = space.os.date
    for name in (*ABSENT_IN_ARGO, "os"):
        space[name] = None
    if has_os:
        only_dates = lua.table_from({"date": clock})
        space["require"] = lambda name: only_dates if name == "os" else None
    space["obj"] = _table(lua, resource)
    return _plain(lua.execute(script))


def _table(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: _table(lua, one) for key, one in value.items()})
    if isinstance(value, list):
        return lua.table_from([_table(lua, one) for one in value])
    return value


def _plain(value: Any) -> Any:
    if lua51.lua_type(value) != "table":
        return value
    found = {key: _plain(one) for key, one in value.items()}
    is_list = bool(found) and all(isinstance(key, int) for key in found)
    return [found[key] for key in sorted(found)] if is_list else found


def resource(*states: tuple[str, str, str, str], **more: Any) -> Json:
    """Return a resource whose spec was seen, with the conditions that follow from others."""
    named = [
        dict(zip(("type", "status", "reason", "message"), one, strict=True), observedGeneration=2)
        for one in states
    ]
    status = {"observedGeneration": 2, "conditions": with_kstatus(named)}
    return {"metadata": {"name": "mo", "generation": 2}, "spec": {}, "status": status, **more}


def health(subject: Json) -> tuple[str, str]:
    found = run(CHECKS["health.lua"], subject)
    return found["status"], found["message"]


def unready(reason: str, message: str = "it is so") -> tuple[str, str, str, str]:
    return ("Ready", "False", reason, message)


@pytest.mark.parametrize(
    ("subject", "status", "message"),
    [
        pytest.param(resource(READY, SYNCED, STILL, FINE), "Healthy", "", id="serves"),
        pytest.param(
            {"metadata": {"name": "mo", "generation": 1}},
            "Progressing",
            "no operator has reported its state",
            id="never seen",
        ),
        pytest.param(
            {"metadata": {"generation": 1}, "status": {"conditions": []}},
            "Progressing",
            "no operator has reported its state",
            id="no condition",
        ),
        pytest.param(
            resource(READY, SYNCED, STILL, FINE, metadata={"generation": 3}),
            "Progressing",
            "the operator has not seen the present spec",
            id="a new spec",
        ),
        pytest.param(
            resource(READY, SYNCED, metadata={"generation": 2, "deletionTimestamp": "2026-01-01"}),
            "Progressing",
            "it is being deleted",
            id="deleted",
        ),
        pytest.param(
            resource(
                READY,
                ("Synced", "False", "RollingOut", ""),
                ("Progressing", "True", "RollingOut", "1 of 3 Pods updated"),
                FINE,
            ),
            "Progressing",
            "1 of 3 Pods updated",
            id="rolls",
        ),
        pytest.param(
            resource(
                READY,
                ("Synced", "False", "InvalidSpec", "spec.tn: must be set"),
                STILL,
                FINE,
            ),
            "Degraded",
            "spec.tn: must be set",
            id="refused",
        ),
        pytest.param(
            resource(READY, SYNCED, STILL, ("Degraded", "True", "StoresFailed", "mo-log-1 failed")),
            "Degraded",
            "mo-log-1 failed",
            id="broken",
        ),
        pytest.param(
            resource(
                READY,
                ("Synced", "False", "Paused", ""),
                ("Paused", "True", "PausedByAnnotation", "an annotation pauses it"),
            ),
            "Suspended",
            "an annotation pauses it",
            id="paused",
        ),
        *(
            pytest.param(
                resource(unready(reason), SYNCED, STILL, FINE), "Suspended", "it is so", id=reason
            )
            for reason in ("Hibernated", "Stopped", "Suspended")
        ),
        pytest.param(
            resource(READY, ("Synced", "False", "UpgradePaused", "paused"), STILL, FINE),
            "Suspended",
            "paused",
            id="upgrade paused",
        ),
        pytest.param(
            resource(("Ready", "Unknown", "HAKeeperUnreachable", "no answer"), SYNCED, STILL, FINE),
            "Progressing",
            "no answer",
            id="unknown",
        ),
        pytest.param(
            resource(("Restorable", "True", "Verified", "")), "Healthy", "", id="a Backup"
        ),
        pytest.param(
            resource(("Restorable", "Unknown", "Unreachable", "the store does not answer")),
            "Progressing",
            "the store does not answer",
            id="a Backup that nobody can see",
        ),
        pytest.param(
            resource(("Restorable", "False", "Broken", "3 objects are missing")),
            "Degraded",
            "3 objects are missing",
            id="a broken Backup",
        ),
    ],
)
def test_health(subject: Json, status: str, message: str) -> None:
    """Never healthy where something is unknown, nor degraded where somebody wants it so."""
    assert health(subject) == (status, message)


def test_all_our_kinds_are_meant() -> None:
    """Argo CD compares ``group/Kind`` with a pattern in which a star is anything."""
    pattern = re.compile(PATTERN.replace(".", r"\.").replace("*", ".*"))
    for path in sorted((ROOT / "crds").glob("*.yaml")):
        spec = yaml.safe_load(path.read_text())["spec"]
        assert pattern.fullmatch(f"{spec['group']}/{spec['names']['kind']}")
    assert not pattern.fullmatch("apps/Deployment")


def cluster(annotations: Json | None = None, **spec: Any) -> Json:
    metadata = {"name": "mo", **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"version": "3.0.18", **spec}}


def offered(subject: Json) -> set[str]:
    found = run(ACTIONS["discovery.lua"], subject)
    return {name for name, action in found.items() if not action["disabled"]}


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (cluster(), {"pause", "restart", "hibernate"}),
        (cluster({"matrixorigin.io/paused": "true"}), {"resume", "hibernate"}),
        (cluster(hibernation={"asleep": True}), {"pause", "restart", "wake"}),
        (
            cluster(hibernation={"schedule": {"sleep": "0 20 * * *", "wake": "0 7 * * *"}}),
            {"pause", "restart", "hibernate", "wake"},
        ),
    ],
)
def test_the_actions_that_make_sense_are_offered(subject: Json, expected: set[str]) -> None:
    assert offered(subject) == expected
    assert offered(subject) <= {one["name"] for one in ACTIONS["definitions"]}


def done(name: str, subject: Json) -> Json:
    (script,) = [one["action.lua"] for one in ACTIONS["definitions"] if one["name"] == name]
    return dict(run(script, subject, has_os=True))


def test_an_action_changes_one_field_and_nothing_else() -> None:
    kept = {"team": "a"}
    paused = {"matrixorigin.io/paused": "true"}

    assert done("pause", cluster(kept)) == cluster({**kept, **paused})
    assert done("pause", cluster()) == cluster(paused)
    assert done("resume", cluster({**kept, **paused})) == cluster(kept)
    assert done("resume", cluster()) == cluster()
    assert done("hibernate", cluster()) == cluster(hibernation={"asleep": True})
    scoped = {"asleep": True, "scope": "Database"}
    assert done("wake", cluster(hibernation=scoped)) == cluster(
        hibernation={**scoped, "asleep": False}
    )
    restarted = done("restart", cluster(kept))
    moment = restarted["metadata"]["annotations"].pop("matrixorigin.io/restartedAt")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment)
    assert restarted == cluster(kept)
