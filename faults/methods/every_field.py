# SPDX-License-Identifier: Apache-2.0
"""Every property of every kind is changed and changed back, removed, and mistyped (Acto's method).

A change A → B → A must end in the state of A; whatever a person writes must be refused or reported
with the field's name, must delete nothing, and once all is quiet nothing is written any more.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds

from faults import checks
from faults.fields import (
    ELEMENT,
    ENTRY,
    Field,
    fields_of,
    has_value,
    valid_values,
    with_needs,
    with_value,
    without,
    wrong_values,
)
from faults.points import Fault, Method, Point
from faults.scenes import scenes, subject
from faults.simulation.definitions import admitted, definitions, mistakes
from faults.simulation.world import Unsettled, World

Json = dict[str, Any]
NAME = "fields"
_ONCE = frozenset({"BackupJob", "RestoreJob"})
"""Kinds whose resources do one thing, once; nothing is changed back."""
CHANGED, REMOVED = "changed", "removed"


def points(kind: str, _rng: random.Random) -> Iterator[Point]:
    """Yield a change, a removal and each wrong value of each field of a kind."""
    for field in fields_of(kind).values():
        for word in (CHANGED, REMOVED, *wrong_values(field)):
            yield Point(NAME, kind, f"{field.name}:{word}")


def run(point: Point) -> None:
    """Change a field as a point says, and change it back.

    Raises:
        Fault: something does not hold.
    """
    name, _, word = point.place.rpartition(":")
    field = fields_of(point.kind)[name]
    first = subject(point.kind)
    if not has_value(first, field):
        first = with_needs(with_value(first, field, valid_values(field)[0]), field)
    second = _changed(field, word, first)
    world = scenes()[point.kind].world()
    if point.kind in _ONCE:
        _store(world, second)
        if found := world.get(point.kind, second["metadata"]["name"]):
            _require_said(field, _refusals(second, None, field), found, {}, world)
        return
    if _refusals(first, None, field) or second == first:
        # What a field needs beside it, no schema says: such a resource must end well, no more.
        _store(world, second)
        return
    _store(world, first)
    found = checks.require_reported(world, point.kind, first["metadata"]["name"])
    _require_applied(field, found)
    before = checks.state(world)
    if not _may_follow(field, first, second):
        return
    _store(world, second)
    found = checks.require_reported(world, point.kind, first["metadata"]["name"])
    _require_said(field, _refusals(second, first, field), found, before, world)
    _store(world, first)
    checks.require_reported(world, point.kind, first["metadata"]["name"])
    after = checks.state(world)
    if point.kind == "Backup":
        before, after = _left_of_looks(before), _left_of_looks(after)
    if (point.kind, name) == _RESUMES:
        _require_kept(before, after)
        return
    checks.require_same(before, after, f"{name} back from {word} is not as before")


_RESUMES = ("BackupSchedule", "spec.suspend")
"""A schedule that goes on for a time makes a backup, which stays when it is suspended again."""


def _require_kept(before: Mapping[str, Json], after: Mapping[str, Json]) -> None:
    """Require that nothing is gone.

    Raises:
        Fault: something is.
    """
    if lost := set(before) - set(after):
        raise Fault(f"gone: {sorted(lost)[:5]}")


_ACCOUNT = re.compile(r"(ServiceAccount|Role|RoleBinding)/.*-check-[0-9a-f]{7}")


def _left_of_looks(state: Mapping[str, Json]) -> dict[str, Json]:
    """Leave out what a look at the files of a Backup leaves behind.

    That are the accounts of its Jobs, which nobody has the right to delete before the Backup, and
    when it was found whole.
    """
    return {
        name: _without_last_look(one)
        for name, one in state.items()
        if not (
            _ACCOUNT.fullmatch(name)
            and any(owner["kind"] == "Backup" for owner in one["metadata"]["ownerReferences"])
        )
    }


def _without_last_look(resource: Json) -> Json:
    status = {**(resource.get("status") or {})}
    if status.pop("lastVerified", None) is None:
        return resource
    return {**resource, "status": status}


def _require_applied(field: Field, found: Json) -> None:
    """Require that the operator refuses nothing that admission accepts.

    Raises:
        Fault: it does.
    """
    synced = checks.conditions(found).get("Synced") or {}
    if synced.get("reason") == "InvalidSpec":
        raise Fault(f"{field.name} is accepted at admission, and refused: {synced['message']}")


def _changed(field: Field, word: str, first: Json) -> Json:
    if word == REMOVED:
        return without(first, field)
    if word != CHANGED:
        return with_value(first, field, wrong_values(field)[word])
    for value in valid_values(field):
        second = with_value(first, field, value)
        if second != first:
            return second
    return without(first, field)


def _refusals(resource: Json, old: Json | None, field: Field) -> list[str]:
    """Return why a resource is refused at admission: by its schema, or by the webhook.

    Raises:
        Fault: a message does not say where.
    """
    definition = definitions()[resource["kind"]]
    stored = admitted(definition.schema, {**resource, "metadata": {}})
    found = list(mistakes(definition.schema, {**stored, "metadata": {}}))
    if found:
        return found
    whole = {**stored, "metadata": {**resource["metadata"], "uid": "uid-0"}}
    # What is refused of what is new alone is no mistake of a resource that is there.
    said = [one for one in kinds.refusals(whole, old) if old is None or not one.at_creation]
    for one in said:
        if not one.field:
            raise Fault(f"{field.name}: the refusal names no field: {one}")
    return [str(one) for one in said]


def _may_follow(field: Field, first: Json, second: Json) -> bool:
    """Tell whether the API server stores a change: by its schema, and by rules about changes."""
    definition = definitions()[first["kind"]]
    stored = [admitted(definition.schema, {**one, "metadata": {}}) for one in (first, second)]
    if list(mistakes(definition.schema, stored[1])):
        json.dumps(stored[1])
        return False
    return not field.is_fixed


def _store(world: World, resource: Json) -> None:
    """Store a resource past the webhook, and let the operator do what it does about it.

    Raises:
        Fault: it does not become quiet.
    """
    definition = definitions()[resource["kind"]]
    stored = admitted(definition.schema, {**resource, "metadata": {}})
    if list(mistakes(definition.schema, {**stored, "metadata": {}})):
        return
    world.apply(resource)
    try:
        world.settle()
    except Unsettled as error:
        raise Fault(str(error)) from error


def _require_said(
    field: Field, refused: list[str], found: Json, before: dict[str, Json], world: World
) -> None:
    """Require that a value which the webhook refuses is reported, and that nothing is lost by it.

    Raises:
        Fault: it is not, or something is.
    """
    if not refused:
        return
    synced = checks.conditions(found).get("Synced") or {}
    if synced.get("status") == "True":
        raise Fault(f"{field.name} is refused at admission ({refused[0]}), and Synced is True")
    named = [part for part in field.path if part not in {ELEMENT, ENTRY}]
    text = json.dumps(found.get("status") or {})
    if not any(part in text for part in named[1:] or named):
        raise Fault(f"{field.name} is refused ({refused[0]}), and the status does not name it")
    if lost := set(before) - set(checks.state(world)):
        raise Fault(f"{field.name} is refused ({refused[0]}), and is gone: {sorted(lost)[:5]}")


METHOD = Method(NAME, "every field changed, removed, mistyped", points, run)
