# SPDX-License-Identifier: Apache-2.0
"""Somebody writes what nobody expects into a resource of his own; that of somebody else must live.

Values have a meaning for templates, YAML, paths, URLs, shells or SQL, are nested deeply, or are
large. A resource that holds them is refused, reported or served, can be deleted, and ends no pass.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds

from faults import checks, lives
from faults.fields import Field, fields_of, with_value
from faults.points import Fault, Method, Point
from faults.scenes import NAMESPACE, scenes, subject
from faults.simulation.definitions import admitted, definitions, mistakes
from tests.support.hostile import KEYS, STRINGS

Json = dict[str, Any]
NAME = "hostile"
EVIL = "evil"
_SEEDS = 400
_LEVELS = (5, 60, 90)
_MOST_FIELDS = 3
_NUMBERS = (0, -1, 2**31, 2**63 - 1, 1e308, True, None)


def points(kind: str, rng: random.Random) -> Iterator[Point]:
    """Yield seeds."""
    for _ in range(_SEEDS):
        yield Point(NAME, kind, str(rng.randrange(10**6)))


def run(point: Point) -> None:
    """Put a hostile resource beside a healthy one.

    Raises:
        Fault: the healthy one suffers, or the hostile one cannot be deleted.
    """
    rng = random.Random(int(point.place))  # noqa: S311 - repeatable
    evil = _evil(point.kind, rng)
    definition = definitions()[point.kind]
    stored = admitted(definition.schema, {**evil, "metadata": {}})
    if list(mistakes(definition.schema, {**stored, "metadata": {}})):
        return
    kinds.refusals({**stored, "metadata": {**evil["metadata"], "uid": "uid-0"}}, None)
    world = scenes()[point.kind].world()
    world.settle()
    world.apply(evil)
    lives.take(world, point.kind, lives.CREATE)
    lives.settle(world, f"beside {_shown(evil)}")
    expected = lives.undisturbed(point.kind)[lives.CREATE].state
    found = checks.state(world)
    mine = {name: one for name, one in found.items() if name in expected}
    checks.require_same(_without_counts(expected), _without_counts(mine), "it suffers from another")
    world.delete(point.kind, "" if point.kind == "Backup" else NAMESPACE, EVIL)
    lives.settle(world, f"deleting {_shown(evil)}")
    _require_gone_or_said(point.kind, world.get(point.kind, EVIL))


def _evil(kind: str, rng: random.Random) -> Json:
    found = subject(kind)
    found["metadata"]["name"] = EVIL
    for storage in _storages(found.get("spec", {})):
        # Who comes first has the path of a database, and the next one waits: that is no suffering.
        storage["s3"]["path"] = f"data/{EVIL}"
    fields = list(fields_of(kind).values())
    for field in rng.sample(fields, rng.randint(1, _MOST_FIELDS)):
        try:
            found = with_value(found, field, _value(field, rng))
        except (AttributeError, IndexError, TypeError, KeyError):
            continue  # what is around it has a hostile value already
    if rng.random() < 0.5:
        found["metadata"]["annotations"] = {"example.com/note": rng.choice(STRINGS)}
    return found


def _storages(value: Any) -> Iterator[Json]:
    """Yield the tables inside a value that say where a database has its data."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "sharedStorage" and "s3" in inner:
                yield inner
            else:
                yield from _storages(inner)


def _value(field: Field, rng: random.Random) -> Any:
    kind = field.schema.get("type")
    if kind == "string" or field.schema.get("x-kubernetes-int-or-string"):
        return rng.choice(STRINGS)
    if kind in {"integer", "number", "boolean"}:
        return rng.choice(_NUMBERS)
    if kind == "array":
        return [_anything(rng) for _ in range(rng.choice((0, 1, 3, 60)))]
    return {rng.choice(KEYS): _anything(rng) for _ in range(rng.choice((0, 1, 4)))}


def _anything(rng: random.Random) -> Any:
    levels = rng.choice((0, 0, 1, *_LEVELS))
    value: Any = rng.choice((*STRINGS, *_NUMBERS))
    for _ in range(levels):
        value = {rng.choice(KEYS): value} if rng.random() < 0.7 else [value]
    return value


def _without_counts(state: dict[str, Json]) -> dict[str, Json]:
    """Leave out what tells of all resources together, and what has random names."""
    shared = ("CNPool/", "CNClaim/", "Secret/")
    return {name: one for name, one in state.items() if not name.startswith(shared)}


def _require_gone_or_said(kind: str, left: Json | None) -> None:
    if left is None:
        return
    status = left.get("status") or {}
    if not (status.get("message") or status.get("conditions")):
        raise Fault(f"{kind} {EVIL} cannot be deleted, and nothing says why")


def _shown(evil: Json) -> str:
    return str({part: evil[part] for part in evil if part not in {"apiVersion", "metadata"}})[:300]


METHOD = Method(NAME, "hostile values in a resource beside a healthy one", points, run)
