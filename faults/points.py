# SPDX-License-Identifier: Apache-2.0
"""A point: one fault in one place, with a name that repeats it, and what came of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass


class Fault(Exception):
    """Something does not hold that always must; the message says what, and where."""


@dataclass(frozen=True, order=True)
class Point:
    """One fault in one place.

    Attributes:
        method: how the fault is made, e.g. ``fields``.
        kind: of the resource that it is about.
        place: the rest of its name: which field and value, which write.
    """

    method: str
    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.method}/{self.kind}/{self.place}"

    @classmethod
    def read(cls, text: str) -> Point:
        """Return the point of a name.

        Raises:
            ValueError: it is no name of a point.
        """
        parts = text.split("/", 2)
        if len(parts) < 3 or not all(parts):
            raise ValueError(f"{text} is no point: a point is METHOD/KIND/PLACE")
        return cls(*parts)


@dataclass(frozen=True)
class Method:
    """A way to make faults.

    Attributes:
        name: first part of the names of its points.
        summary: what it does, in a few words.
        points: all points of a kind; those drawn from a seed are given the generator.
        run: makes the fault; raises `Fault` for what does not hold.
        weight: how often its points are chosen, beside 1 for the others.
    """

    name: str
    summary: str
    points: Callable[[str, random.Random], Iterable[Point]]
    run: Callable[[Point], None]
    weight: float = 1.0


def chosen(methods: Sequence[Method], kinds: Iterable[str], count: int, seed: int) -> list[Point]:
    """Choose points: from each method by its weight, and from each kind as many.

    Args:
        methods: to choose from.
        kinds: to choose from.
        count: how many; fewer if there are no more.
        seed: the same points for the same seed.
    """
    rng = random.Random(seed)  # noqa: S311 - repeatable
    stacks: dict[tuple[str, str], list[Point]] = {}
    for method in methods:
        for kind in sorted(kinds):
            points = list(dict.fromkeys(method.points(kind, rng)))
            rng.shuffle(points)
            if points:
                stacks[(method.name, kind)] = points
    weights: Mapping[str, float] = {method.name: method.weight for method in methods}
    found: list[Point] = []
    while stacks and len(found) < count:
        names = sorted(stacks)
        name = rng.choices(names, [weights[method] for method, _kind in names])[0]
        found.append(stacks[name].pop())
        if not stacks[name]:
            del stacks[name]
    return found
