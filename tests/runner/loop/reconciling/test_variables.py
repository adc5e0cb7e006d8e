# SPDX-License-Identifier: Apache-2.0
"""The variables of a run: names, order, data that is no template."""

from typing import Any

import pytest
import structlog.testing

from ansible_operator.errors import EngineError
from ansible_operator.loop.queueing.queue import Trigger
from ansible_operator.loop.reconciling import variables as reconciling_variables
from ansible_operator.loop.reconciling.variables import object_variable
from ansible_operator.watches import Finalizer, KindName, PlayPath, Watch

WHY = Trigger("spec changed", fresh=True)
KIND = KindName("cache.example.com", "v1alpha1", "Memcached")


def extra_vars(*arguments: Any, **options: Any) -> dict[str, Any]:
    """All variables of a run by name, data and templates."""
    found = reconciling_variables.extra_vars(*arguments, **options)
    assert not found.data.keys() & found.templates.keys()
    return {**found.data, **found.templates}


def watch(**fields: Any) -> Watch:
    return Watch(**{"kind": KIND, "play": PlayPath(playbook="/p"), "mark_unsafe": False, **fields})


def memcached(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": "default"},
        "spec": spec,
        "status": {"conditions": []},
    }


def test_the_example_of_the_contract() -> None:
    obj = memcached(size=1, podCIDR="10.0.0.0/8")
    assert extra_vars(watch(), obj, WHY, finalizing=False) == {
        "size": 1,
        "pod_cidr": "10.0.0.0/8",
        "ansible_operator_meta": {"name": "sample", "namespace": "default"},
        "_cache_example_com_memcached": obj,
        "_cache_example_com_memcached_spec": {"size": 1, "podCIDR": "10.0.0.0/8"},
    }


@pytest.mark.parametrize("mark", [False, True])
def test_what_comes_from_the_object_is_data_unless_the_watch_says_otherwise(*, mark: bool) -> None:
    name = "_cache_example_com_memcached"
    found = reconciling_variables.extra_vars(
        watch(mark_unsafe=mark, vars={"plain": "{{ x }}", "meta": "{{ ansible_operator_meta }}"}),
        memcached(size=1, podCIDR="{{ evil }}"),
        WHY,
        finalizing=False,
    )
    of_object = {"size", "pod_cidr", name, f"{name}_spec"}
    told = {"ansible_operator_meta", "meta"}
    assert found.data.keys() == told | (of_object if mark else set())
    assert found.templates.keys() == {"plain"} | (set() if mark else of_object)
    assert (found.data if mark else found.templates)["pod_cidr"] == "{{ evil }}"


def test_later_rows_override_earlier_ones() -> None:
    spec = {"size": 1, "state": "from spec", "ansible_operator_meta": "from spec"}
    finalizer = Finalizer("f", vars={"state": "absent"})
    kept = watch(vars={"size": 2, "state": "present"}, finalizer=finalizer)
    normal = extra_vars(kept, memcached(**spec), WHY, finalizing=False)
    assert (normal["size"], normal["state"]) == (2, "present")
    assert normal["ansible_operator_meta"] == {"name": "sample", "namespace": "default"}
    assert extra_vars(kept, memcached(**spec), WHY, finalizing=True)["state"] == "absent"


def test_keys_stay_without_snake_case() -> None:
    found = extra_vars(
        watch(snake_case_parameters=False), memcached(camelCase=1), WHY, finalizing=False
    )
    assert found["camelCase"] == 1


@pytest.mark.parametrize("spec", [None, "text", []])
def test_an_object_without_a_usable_spec_has_no_parameters(spec: Any) -> None:
    obj = {**memcached(), "spec": spec}
    found = extra_vars(watch(), obj, WHY, finalizing=False)
    assert found["_cache_example_com_memcached_spec"] == {}


def test_a_variable_that_only_names_one_of_ours_is_that_one() -> None:
    obj = memcached(size=1, text="{{ evil }}")
    variables = {
        "meta": "{{ ansible_operator_meta }}",
        "whole": "{{_cache_example_com_memcached}}",
        "mixed": "of {{ ansible_operator_meta.name }}",
        "other": "{{ size }}",
        "number": 5,
    }
    found = extra_vars(watch(mark_unsafe=True, vars=variables), obj, WHY, finalizing=False)
    assert found["meta"] == {"name": "sample", "namespace": "default"}
    assert found["whole"] == obj
    assert found["mixed"] == "of {{ ansible_operator_meta.name }}"
    assert found["other"] == "{{ size }}"
    assert found["number"] == 5


def test_a_variable_of_the_watch_hides_one_of_ours() -> None:
    variables = {"ansible_operator_meta": {"name": "mine"}, "meta": "{{ ansible_operator_meta }}"}
    found = extra_vars(watch(vars=variables), memcached(), WHY, finalizing=False)
    assert found["meta"] == "{{ ansible_operator_meta }}"
    assert found["ansible_operator_meta"] == {"name": "mine"}


def test_managed_fields_are_part_of_the_object_unless_the_watch_drops_them() -> None:
    obj = memcached(size=1)
    obj["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    name = "_cache_example_com_memcached"
    kept = extra_vars(watch(), obj, WHY, finalizing=False)[name]["metadata"]
    assert kept["managedFields"] == [{"manager": "kubectl"}]
    left = extra_vars(watch(keep_managed_fields=False), obj, WHY, finalizing=False)[name][
        "metadata"
    ]
    assert left == {"name": "sample", "namespace": "default"}


@pytest.mark.parametrize(
    ("group", "kind", "name"),
    [
        ("cache.example.com", "Memcached", "_cache_example_com_memcached"),
        ("operator-with-dash.example.com", "Example", "_operator_with_dash_example_com_example"),
        ("", "Secret", "__secret"),
    ],
)
def test_names_of_object_variables(group: str, kind: str, name: str) -> None:
    assert object_variable(group, kind) == name


def test_a_play_gets_its_trigger_if_the_watch_enables_it() -> None:
    probed = Trigger("probe", fresh=False, probed=True)
    checked = Trigger("period", fresh=False, prechecked=True)
    for trigger, reason in ((WHY, "spec changed"), (probed, "probe"), (checked, "period")):
        found = extra_vars(watch(trigger_variable=True), memcached(), trigger, finalizing=False)
        assert found["ansible_operator_trigger"] == {
            "reason": reason,
            "object_changed": trigger.fresh,
            "probed": trigger.probed,
            "prechecked": trigger.prechecked,
        }
    assert "ansible_operator_trigger" not in extra_vars(watch(), memcached(), WHY, finalizing=False)


COMMANDS = {
    "ansible_connection": "ssh",
    "ansible_python_interpreter": "/bin/sh -c 'id > /tmp/owned'",
    "ansiblePythonInterpreter": "/bin/evil",
    "ansible_become": True,
    "ansibleShellExecutable": "/bin/evil",
    "ansible_facts": {"discovered_interpreter_python": "/bin/evil"},
    "_ansible_coverage_remote_output": "/tmp/x",
}


@pytest.mark.parametrize("snake", [False, True])
@pytest.mark.parametrize("unsafe", [False, True])
def test_a_spec_sets_none_of_ansibles_own_variables(*, snake: bool, unsafe: bool) -> None:
    """Where a CRD keeps unknown fields, they would choose what runs in the operator."""
    kept = watch(snake_case_parameters=snake, mark_unsafe=unsafe, vars={"ansible_become": False})
    spec = {"size": 1, "ansible": "allowed", "my_ansible_user": "allowed", **COMMANDS}
    found = extra_vars(kept, memcached(**spec), WHY, finalizing=False)
    own = {name for name in found if name.startswith(("ansible_", "_ansible_"))}
    expected = {"ansible_operator_meta", "ansible_become"}
    if not snake:  # Ansible knows no such name, and a role may
        assert found["ansiblePythonInterpreter"]
    assert own == expected
    assert found["ansible_become"] is False  # the operator's author decides
    assert found["size"] == 1
    assert {"ansible", "my_ansible_user"} <= found.keys()
    assert "ansible_connection" in found["_cache_example_com_memcached_spec"]


def test_what_was_left_out_is_logged_once_for_a_kind() -> None:
    kept = watch(kind=KindName("logged.example.com", "v1", "Once"))
    with structlog.testing.capture_logs() as lines:
        for number in range(3):
            spec = {f"ansible_{number}": 1, "ansible_" + "x" * 5000: 1}
            extra_vars(kept, memcached(**spec), WHY, finalizing=False)
    assert len(lines) == 1
    assert lines[0]["gvk"] == "logged.example.com/v1, Kind=Once"
    assert lines[0]["variables"][0] == "ansible_0"
    assert len(str(lines[0])) < 1000


RESERVED = ("__ansible_type", "__ansible_unsafe", "__ansible_vault", "__ansible_of_tomorrow")


@pytest.mark.parametrize("key", RESERVED)
@pytest.mark.parametrize("snake", [False, True])
@pytest.mark.parametrize("unsafe", [False, True])
def test_keys_that_ansible_reserves_are_left_out_at_any_depth(
    key: str, *, snake: bool, unsafe: bool
) -> None:
    obj = memcached(size=1, items=[{"a": {key: "x", "b": 2}}], **{key: "x"})
    obj["metadata"]["labels"] = {key: "x", "app": "a"}
    obj["status"] = {"conditions": [{key: {}}]}
    kind = KindName("reserved.example.com", "v1", f"Kind{key}{snake}{unsafe}")
    kept = watch(kind=kind, snake_case_parameters=snake, mark_unsafe=unsafe)
    with structlog.testing.capture_logs() as lines:
        for _ in range(2):
            found = extra_vars(kept, obj, WHY, finalizing=False)

    whole = found[object_variable(kind.group, kind.kind)]
    assert found["items"] == whole["spec"]["items"] == [{"a": {"b": 2}}]
    assert whole["metadata"]["labels"] == {"app": "a"}
    assert whole["status"] == {"conditions": [{}]}
    assert key not in found
    assert [line["fields"] for line in lines] == [
        [
            f"spec.{key}",
            f"metadata.labels.{key}",
            f"status.conditions[0].{key}",
            f"spec.items[0].a.{key}",
        ]
    ]
    assert lines[0]["name"] == "sample"


def test_a_key_that_becomes_a_reserved_one_is_left_out() -> None:
    spec = {"a": {"__ansibleType": 1, "__ansible type": 2, "b": 3}}
    found = extra_vars(watch(), memcached(**spec), WHY, finalizing=False)
    assert found["a"] == {"b": 3}
    assert found["_cache_example_com_memcached_spec"] == spec


@pytest.mark.parametrize("levels", [1_000, 100_000])
@pytest.mark.parametrize("field", ["spec", "status"])
def test_an_object_that_is_nested_deeply_is_refused_with_the_field(field: str, levels: int) -> None:
    value: Any = "x"
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    obj = {**memcached(), field: {"deep": value}}
    with pytest.raises(EngineError, match=rf"^{field}\.deep\[0\]\.a.* nested deeper than"):
        extra_vars(watch(), obj, WHY, finalizing=False)
