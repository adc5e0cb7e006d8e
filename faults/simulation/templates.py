# SPDX-License-Identifier: Apache-2.0
"""Evaluate the expressions in the roles of the collection, the way that Ansible does.

A text that is one expression becomes its value, whatever its type; variables are evaluated when
they are read. Only texts of the roles are templates: what comes from a resource never is, and a
point of the harness fails when that changes in Ansible's own engine, which this is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jinja2
from ansible_collections.matrixorigin.matrixone.plugins.filter import operators, plans
from jinja2.runtime import Context

from faults import ROOT

Json = dict[str, Any]
MISSING: Any = object()
"""What a variable has that nobody has set."""
OMIT = object()
"""An argument that is left out."""


class Scope:
    """Variables by precedence: those of the play, of frames, of facts, of roles, defaults.

    Attributes:
        frames: variables of tasks, blocks and includes, and above all those of the play.
        facts: what tasks have registered or set.
        defaults: of all roles that were entered.
        roles: names of the roles that are being played, the innermost last.
    """

    def __init__(self, play: Mapping[str, Any]) -> None:
        self.play = dict(play)
        self.frames: list[Mapping[str, Any]] = []
        self.role_vars: Json = {}
        self.facts: Json = {}
        self.defaults: Json = {}
        self.roles: list[str] = []

    def find(self, name: str) -> Any:
        """Return the value of a variable as it is written; `MISSING` without one."""
        for frame in (self.play, *reversed(self.frames), self.facts, self.role_vars):
            if name in frame:
                return frame[name]
        return self.defaults.get(name, MISSING)


class Data:
    """A value that is not a template: a resource, or what a task has registered."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Lazy(Context):
    def resolve_or_missing(self, key: str) -> Any:
        """Evaluate a variable when it is read."""
        scope: Scope = self.parent["__scope__"]
        value = scope.find(key)
        return super().resolve_or_missing(key) if value is MISSING else evaluate(value, scope)


def evaluate(value: Any, scope: Scope) -> Any:
    """Return a value of a role with its templates evaluated.

    Raises:
        jinja2.UndefinedError: a variable is not defined.
    """
    if isinstance(value, Data):
        return value.value
    if isinstance(value, str):
        return _text(value, scope) if "{{" in value else value
    if isinstance(value, Mapping):
        pairs = {name: evaluate(inner, scope) for name, inner in value.items()}
        return {name: inner for name, inner in pairs.items() if inner is not OMIT}
    if isinstance(value, list):
        return [evaluate(element, scope) for element in value]
    return value


def holds(conditions: Any, scope: Scope) -> bool:
    """Tell whether all conditions of a task hold; they are expressions without braces."""
    listed = conditions if isinstance(conditions, list) else [conditions]
    return all(
        bool(_compiled(one)(__scope__=scope)) if isinstance(one, str) else bool(one)
        for one in listed
    )


def _text(text: str, scope: Scope) -> Any:
    inner = text.strip()
    if inner.startswith("{{") and inner.endswith("}}") and inner.count("{{") == 1:
        return _compiled(inner[2:-2].strip())(__scope__=scope)
    return _template(text).render(__scope__=scope)


@cache
def _compiled(expression: str) -> Callable[..., Any]:
    return _environment().compile_expression(expression, undefined_to_none=False)


@cache
def _template(text: str) -> jinja2.Template:
    return _environment().from_string(text)


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined)  # noqa: S701 - no HTML
    environment.context_class = _Lazy
    ours = {**plans.FilterModule().filters(), **operators.FilterModule().filters()}
    named = {f"matrixorigin.matrixone.{name}": one for name, one in ours.items()}
    environment.filters.update(named)
    environment.filters.update(combine=_combine, bool=_flag)
    for name in ("failed", "skipped"):
        environment.tests[name] = lambda result, key=name: bool(result.get(key))
    environment.tests["truthy"] = bool  # type: ignore[assignment]
    environment.globals.update(
        omit=OMIT, lookup=_lookup, ansible_check_mode=False, ansible_operator_trigger={}
    )
    return environment


def _combine(first: Mapping[str, Any], *others: Mapping[str, Any]) -> Json:
    joined = dict(first)
    for one in others:
        joined.update(one)
    return joined


def _flag(value: Any) -> bool:
    return str(value).lower() in {"true", "yes", "1", "on"}


@jinja2.pass_context
def _lookup(context: Context, plugin: str, *terms: str, **_options: Any) -> str:
    if plugin == "ansible.builtin.env":
        return os.environ.get(terms[0], "")
    scope: Scope = context.parent["__scope__"]
    for role in reversed(scope.roles):
        file = ROOT / "roles" / role / "files" / terms[0]
        if file.exists():
            return file.read_text()
    raise FileNotFoundError(terms[0])
