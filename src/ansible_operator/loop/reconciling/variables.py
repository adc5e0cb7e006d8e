# SPDX-License-Identifier: Apache-2.0
"""The variables of a run (runner.md §2.11, §2.13)."""

import re
from collections.abc import Mapping
from typing import Any

from ansible_operator.kube.interface import Object
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Why
from ansible_operator.loop.reconciling.snake_case import snake_case_keys
from ansible_operator.watches import KindName, Watch

_LOG = get_logger("parameters")
UNSAFE = "__ansible_unsafe"
TRIGGER = "ansible_operator_trigger"
_ALIAS = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A variable of a watch that is nothing but the name of another one."""
_ANSIBLES_OWN = ("ansible_", "_ansible_")
"""How Ansible's own variables begin. They say how to connect, which interpreter and which shell run
a module, as whom: in the hands of an object's author each of them is a command of the operator."""
_REPORTED: set[KindName] = set()


def mark_unsafe(value: Any) -> Any:
    """Wrap every string value, at any depth, so that Ansible takes it for data."""
    if isinstance(value, str):
        return {UNSAFE: value}
    if isinstance(value, dict):
        return {key: mark_unsafe(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mark_unsafe(item) for item in value]
    return value


def object_variable(group: str, kind: str) -> str:
    """Name of the variable that holds the whole object: ``_<group>_<kind>``."""
    return f"_{group.replace('.', '_').replace('-', '_')}_{kind.lower()}"


def whole_object(watch: Watch, obj: Object) -> Object:
    """The object as its plays see it."""
    if watch.keep_managed_fields:
        return obj
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


def extra_vars(watch: Watch, obj: Object, why: Why, *, finalizing: bool) -> dict[str, Any]:
    """All variables of one run; later ones override earlier ones of the same name.

    Args:
        watch: the watch of the object's kind.
        obj: the object as read, status included. Keys of its spec that are named as Ansible's own
            variables are in the variables of the whole object and of the spec only.
        why: what led to the run; plays get it if the watch names a variable for it.
        finalizing: whether this is the run before the object is deleted.
    """
    spec = obj.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    parameters = snake_case_keys(spec) if watch.snake_case_parameters else dict(spec)
    parameters = _without_ansibles_own(watch.kind, parameters)
    whole: Any = whole_object(watch, obj)
    if watch.mark_unsafe:
        parameters, whole, spec = mark_unsafe(parameters), mark_unsafe(whole), mark_unsafe(spec)
    metadata = obj["metadata"]
    name = object_variable(watch.kind.group, watch.kind.kind)
    own = {
        "ansible_operator_meta": {
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
        },
        name: whole,
        f"{name}_spec": spec,
    }
    if watch.trigger_variable:
        trigger = {"reason": why.reason, "object_changed": why.fresh, "probed": why.probed}
        own[TRIGGER] = mark_unsafe(trigger)
    variables = {**parameters, **own, **_resolved(watch.vars, own)}
    if finalizing and watch.finalizer is not None:
        variables.update(_resolved(watch.finalizer.vars, own))
    return variables


def _without_ansibles_own(kind: KindName, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what Ansible would obey; the first object of a kind that has it is logged."""
    kept = {key: value for key, value in parameters.items() if not key.startswith(_ANSIBLES_OWN)}
    if len(kept) < len(parameters) and kind not in _REPORTED:
        _REPORTED.add(kind)
        names = sorted(parameters.keys() - kept.keys())[:10]
        text = "Keys of a spec that are Ansible's own variables are not passed to plays"
        _LOG.warning(text, gvk=str(kind), variables=[name[:100] for name in names])
    return kept


def _resolved(given: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Variables of a watch, those that only name one of ours replaced by what they name.

    ``meta: "{{ ansible_operator_meta }}"`` would otherwise be a template that Ansible renders, with
    a copy of the whole object, at every use in every task.
    """
    resolved = {}
    for key, value in given.items():
        alias = _ALIAS.fullmatch(value) if isinstance(value, str) else None
        named = alias.group(1) if alias else ""
        resolved[key] = own[named] if named in own and named not in given else value
    return resolved
