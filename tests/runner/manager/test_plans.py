# SPDX-License-Identifier: Apache-2.0
"""What flags and environment mean for watches and runs."""

from pathlib import Path
from typing import Any

import pytest

from ansible_operator.errors import ConfigError
from ansible_operator.manager.plans import (
    make_plans,
    make_settings,
    roles_to_load,
    total_runs,
)
from ansible_operator.options import Options, available_cpus
from ansible_operator.watches import Finalizer, KindName, PlayPath, Requirement, Selector, Watch

SUFFIX = "K_G"


def watch(**fields: Any) -> Watch:
    return Watch(**{"kind": KindName("g", "v1", "K"), "play": PlayPath(playbook="/p"), **fields})


@pytest.mark.parametrize(
    ("fields", "flags", "environ", "expected"),
    [
        ({}, {}, {}, available_cpus()),
        ({}, {"max_concurrent_reconciles": 7}, {}, 7),
        ({}, {"max_concurrent_reconciles": 0}, {}, 1),
        ({"max_concurrent_reconciles": 3}, {"max_concurrent_reconciles": 7}, {}, 3),
        (
            {"max_concurrent_reconciles": 3},
            {},
            {f"MAX_CONCURRENT_RECONCILES_{SUFFIX}": "5"},
            5,
        ),
    ],
)
def test_concurrency(
    fields: dict[str, Any], flags: dict[str, Any], environ: dict[str, str], expected: int
) -> None:
    (plan,) = make_plans([watch(**fields)], Options(**flags), environ)
    assert plan.limit == expected


@pytest.mark.parametrize(
    ("own", "flag", "expected"), [(0.0, 36_000.0, 36_000.0), (5.0, 36_000.0, 5.0), (0.0, 0.0, 0.0)]
)
def test_zero_in_the_file_inherits_the_flag(own: float, flag: float, expected: float) -> None:
    (plan,) = make_plans([watch(reconcile_period=own)], Options(reconcile_period=flag), {})
    assert plan.period == expected


@pytest.mark.parametrize(("namespaces", "kept"), [("", 2), ("a", 1), ("a,b", 1), (" , ", 2)])
def test_a_kind_of_all_namespaces_is_left_out_where_some_are_watched(
    namespaces: str, kept: int
) -> None:
    plans = make_plans(
        [watch(), watch(all_namespaces_only=True)], Options(), {"WATCH_NAMESPACE": namespaces}
    )
    assert len(plans) == kept
    assert not plans[0].watch.all_namespaces_only


def test_the_total_never_starves_a_single_kind() -> None:
    plans = make_plans([watch(max_concurrent_reconciles=500)], Options(), {})
    assert total_runs(plans, Options()) == 500
    assert total_runs(plans, Options(max_concurrent_runs=3)) == 3


def test_an_unusable_selector_is_refused() -> None:
    selector = Selector((), (Requirement("k", "Nope", ("v",)),))
    with pytest.raises(ConfigError, match='"Nope" is not a valid label selector operator'):
        make_plans([watch(selector=selector)], Options(), {})


def test_settings_of_the_environment() -> None:
    environ = {
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_INVENTORY": "/inventory",
        "ANSIBLE_VERBOSITY": "3",
        "ANSIBLE_DEBUG_LOGS": "TRUE",
    }
    settings = make_settings(Options(ansible_args="'-e a=b'"), environ, "https://here")
    assert settings.command_line == "-e a=b"
    assert settings.inventory == Path("/inventory")
    assert not settings.gather_facts
    assert settings.raw_output
    assert settings.debug_logs
    assert make_settings(Options(), {}, "https://here").gather_facts


def test_roles_beside_those_of_watches_are_loaded_too(tmp_path: Path) -> None:
    for name in ("a", "b", "shared"):
        (tmp_path / "roles" / name / "tasks").mkdir(parents=True)
    (tmp_path / "roles" / "no-role").mkdir()
    role, final = tmp_path / "roles" / "b", tmp_path / "roles" / "a"
    finalizer = Finalizer("f", PlayPath(role=str(final), role_name="a"))
    watches = [watch(play=PlayPath(role=str(role), role_name="b"), finalizer=finalizer)]
    plans = make_plans(watches, Options(), {})
    assert roles_to_load(plans) == [role, final, tmp_path / "roles" / "shared"]
