# SPDX-License-Identifier: Apache-2.0
"""The variables of a run."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ansible_operator.engine.extra_vars import RESERVED, ExtraVars, without_reserved_keys
from ansible_operator.kube.interface import Object
from ansible_operator.logs import get_logger
from ansible_operator.loop.queueing.queue import Trigger
from ansible_operator.loop.reconciling.snake_case import snake_case_keys
from ansible_operator.watches import KindName, Watch

_LOG = get_logger("parameters")
TRIGGER = "ansible_operator_trigger"
_ALIAS = re.compile(r"\{\{\s*(\w+)\s*\}\}")
"""A variable of a watch that is nothing but the name of another one."""
_ANSIBLES_OWN = ("ansible_", "_ansible_")
"""How Ansible's own variables begin. They say how to connect, which interpreter and which shell run
a module, as whom: in the hands of an object's author each of them is a command of the operator."""
_REPORTED: set[KindName] = set()
_REPORTED_OBJECTS: set[tuple[KindName, str, str]] = set()
_MOST_REPORTED = 1000
"""Objects that are remembered as reported; then the next ones are reported again."""


def object_variable(group: str, kind: str) -> str:
    """Name of the variable that holds the whole object: ``_<group>_<kind>``."""
    return f"_{group.replace('.', '_').replace('-', '_')}_{kind.lower()}"


def whole_object(watch: Watch, obj: Object) -> Object:
    """The object as its plays and checks see it: without the keys that Ansible reserves.

    A key ``__ansible_type``, a label's for instance, means something wherever Ansible reads or
    writes JSON: a module that gets such an object fails, or gets something else. The run is to go
    on, so the key is left out, and a line is logged.

    Raises:
        EngineError: it is nested too deeply.
    """
    if not watch.keep_managed_fields:
        metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        obj = {**obj, "metadata": metadata}
    cleaned, paths = without_reserved_keys(obj)
    if paths:
        _report_reserved(watch.kind, obj["metadata"], paths)
    return cleaned  # type: ignore[no-any-return]


def extra_vars(watch: Watch, obj: Object, trigger: Trigger, *, finalizing: bool) -> ExtraVars:
    """All variables of one run; later ones override earlier ones of the same name.

    Args:
        watch: the watch of the object's kind.
        obj: the object as read, status included. Keys of its spec that are named as Ansible's own
            variables are in the variables of the whole object and of the spec only.
        trigger: what led to the run; plays get it if the watch names a variable for it.
        finalizing: whether this is the run before the object is deleted.

    Raises:
        EngineError: the object is nested too deeply.
    """
    whole = whole_object(watch, obj)
    spec = whole.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    metadata = whole["metadata"]
    name = object_variable(watch.kind.group, watch.kind.kind)
    told: dict[str, Any] = {
        "ansible_operator_meta": {
            "name": metadata["name"],
            "namespace": metadata.get("namespace", ""),
        },
    }
    if watch.trigger_variable:
        told[TRIGGER] = {
            "reason": trigger.reason,
            "object_changed": trigger.fresh,
            "probed": trigger.probed,
            "prechecked": trigger.prechecked,
        }
    of_object = {name: whole, f"{name}_spec": spec}
    are_templates = not watch.mark_unsafe
    own = _each(told, are_templates=False) | _each(of_object, are_templates=are_templates)
    variables = _each(_parameters(watch, spec), are_templates=are_templates) | own
    variables |= _resolved(watch.vars, own)
    if finalizing and watch.finalizer is not None:
        variables |= _resolved(watch.finalizer.vars, own)
    return ExtraVars(
        {name: variable.value for name, variable in variables.items() if not variable.is_template},
        {name: variable.value for name, variable in variables.items() if variable.is_template},
    )


class _Variable(NamedTuple):
    value: Any
    is_template: bool


def _each(variables: Mapping[str, Any], *, are_templates: bool) -> dict[str, _Variable]:
    return {name: _Variable(value, are_templates) for name, value in variables.items()}


def _resolved(given: Mapping[str, Any], own: Mapping[str, _Variable]) -> dict[str, _Variable]:
    """Variables of a watch, those that only name one of ours replaced by what they name.

    ``meta: "{{ ansible_operator_meta }}"`` would otherwise be a template that Ansible renders, with
    a copy of the whole object, at every use in every task.
    """
    resolved = {}
    for key, value in given.items():
        alias = _ALIAS.fullmatch(value) if isinstance(value, str) else None
        named = alias.group(1) if alias else ""
        is_ours = named in own and named not in given
        resolved[key] = own[named] if is_ours else _Variable(value, is_template=True)
    return resolved


def _parameters(watch: Watch, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a spec as variables, without those that Ansible would obey.

    A key may become one of Ansible's by its conversion.
    """
    if not watch.snake_case_parameters:
        return _without_ansibles_own(watch.kind, spec)
    converted, _ = without_reserved_keys(snake_case_keys(spec))
    return _without_ansibles_own(watch.kind, converted)


def _without_ansibles_own(kind: KindName, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what Ansible would obey; the first object of a kind that has it is logged."""
    kept = {key: value for key, value in parameters.items() if not key.startswith(_ANSIBLES_OWN)}
    if len(kept) < len(parameters) and kind not in _REPORTED:
        _REPORTED.add(kind)
        names = sorted(parameters.keys() - kept.keys())
        text = "Keys of a spec that are Ansible's own variables are not passed to plays"
        _LOG.warning(text, gvk=str(kind), variables=_shortened(names))
    return kept


def _report_reserved(kind: KindName, metadata: Mapping[str, Any], paths: list[str]) -> None:
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if (kind, namespace, name) in _REPORTED_OBJECTS:
        return
    if len(_REPORTED_OBJECTS) >= _MOST_REPORTED:
        _REPORTED_OBJECTS.clear()
    _REPORTED_OBJECTS.add((kind, namespace, name))
    text = f"Keys that begin with {RESERVED}, which Ansible reserves, are not passed to plays"
    fields = _shortened(paths)
    _LOG.warning(text, gvk=str(kind), name=name, namespace=namespace, fields=fields)


def _shortened(names: list[str]) -> list[str]:
    return [name[:100] for name in names[:10]]
