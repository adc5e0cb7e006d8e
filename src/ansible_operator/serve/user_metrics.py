# SPDX-License-Identifier: Apache-2.0
"""Metrics that roles define: created on first use, kept in memory.

They are exposed under exactly the names that roles give; the Prometheus library would add
``_total`` to counters, so they are written out here. ``labels`` and ``remove`` are additions to
what ``operator_sdk.util.osdk_metric`` sends: one metric has a value for each set of labels, until
whoever reported it takes it away. So are lists of observations, and ``buckets``.
"""

import math
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from prometheus_client import CollectorRegistry

from ansible_operator.errors import OperatorError
from ansible_operator.logs import get_logger

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TYPES = ("counter", "gauge", "histogram", "summary")
MOST_SERIES = 10_000
"""Values of one metric at most: each is kept and exposed until it is removed."""
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_log = get_logger("metrics-api")


class MetricError(OperatorError):
    """A request of a role is invalid; the message is the text of the answer."""


Labels = tuple[tuple[str, str], ...]
"""Names and values of labels, by name."""


class _Metric(Protocol):
    """The value of a metric for one set of labels."""

    def apply(self, operations: Mapping[str, Any]) -> None:
        """Carry out the first operation of the request."""
        ...

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        """Lines of the exposition format."""
        ...


def _flag(operations: Mapping[str, Any], name: str) -> bool:
    value = operations.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise MetricError(f"json: cannot unmarshal {_kind(value)} into field {name} of type bool")


def _number(operations: Mapping[str, Any], name: str) -> float | None:
    value = operations.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MetricError(f"json: cannot unmarshal {_kind(value)} into field {name} of type number")
    try:
        return float(value)
    except OverflowError as error:
        raise MetricError(f"json: the number in field {name} is too large") from error


def _numbers(operations: Mapping[str, Any], name: str) -> list[float]:
    """Return the numbers of an operation: one, several, or none."""
    value = operations.get(name)
    values = value if isinstance(value, list) else [value]
    found = [_number({name: one}, name) for one in values]
    return [one for one in found if one is not None]


def _kind(value: Any) -> str:
    names = {bool: "bool", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


@dataclass(slots=True)
class _Counter:
    value: float = 0.0

    def apply(self, operations: Mapping[str, Any]) -> None:
        if _flag(operations, "increment"):
            self.value += 1
        elif (amount := _number(operations, "add")) is not None:
            if amount < 0:
                raise MetricError("counter metrics cannot decrease in value")
            self.value += amount

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        yield f"{_series(name, labels)} {_text(self.value)}"


@dataclass(slots=True)
class _Gauge:
    value: float = 0.0
    clock: Callable[[], float] = time.time

    def apply(self, operations: Mapping[str, Any]) -> None:
        if _flag(operations, "increment"):
            self.value += 1
        elif _flag(operations, "decrement"):
            self.value -= 1
        elif amount := _number(operations, "add"):
            self.value += amount
        elif amount := _number(operations, "subtract"):
            self.value -= amount
        elif amount := _number(operations, "set"):
            self.value = amount
        elif _flag(operations, "set_to_current_time"):
            self.value = self.clock()
        elif _number(operations, "set") is not None:
            self.value = 0.0

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        yield f"{_series(name, labels)} {_text(self.value)}"


@dataclass(slots=True)
class _Summary:
    total: float = 0.0
    count: int = 0

    def apply(self, operations: Mapping[str, Any]) -> None:
        for value in _numbers(operations, "observe"):
            self.observe(value)

    def observe(self, value: float) -> None:
        self.total += value
        self.count += 1

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        yield f"{_series(f'{name}_sum', labels)} {_text(self.total)}"
        yield f"{_series(f'{name}_count', labels)} {self.count}"


@dataclass(slots=True)
class _Histogram(_Summary):
    limits: tuple[float, ...] = BUCKETS
    inside: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def apply(self, operations: Mapping[str, Any]) -> None:
        limits = tuple(sorted(set(_numbers(operations, "buckets"))))
        if limits and not self.count:
            self.limits, self.inside = limits, [0] * (len(limits) + 1)
        _Summary.apply(self, operations)

    def observe(self, value: float) -> None:
        _Summary.observe(self, value)
        self.inside[bisect_left(self.limits, value)] += 1

    def samples(self, name: str, labels: Labels) -> Iterator[str]:
        below = 0
        for limit, inside in zip((*self.limits, math.inf), self.inside, strict=True):
            below += inside
            yield f"{_series(f'{name}_bucket', (*labels, ('le', _text(limit))))} {below}"
        yield from _Summary.samples(self, name, labels)


_MAKE: Mapping[str, Callable[[], _Metric]] = {
    "counter": _Counter,
    "gauge": _Gauge,
    "histogram": _Histogram,
    "summary": _Summary,
}


@dataclass(slots=True)
class _Family:
    """A metric with its values."""

    kind: str
    description: str
    series: dict[Labels, _Metric] = field(default_factory=dict)

    def remove(self, labels: Labels) -> None:
        """Forget the values whose labels include the given ones; without any, all of them."""
        wanted = set(labels)
        for found in [one for one in self.series if wanted <= set(one)]:
            del self.series[found]

    def lines(self, name: str) -> Iterator[str]:
        text = self.description.replace("\\", r"\\").replace("\n", r"\n")
        yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {self.kind}"
        for labels, metric in sorted(self.series.items(), key=lambda item: item[0]):
            yield from metric.samples(name, labels)


class UserMetrics:
    """The metrics of all roles of this process.

    Args:
        registry: metrics of the process itself, whose names roles cannot take.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._families: dict[str, _Family] = {}

    def handle(self, request: Mapping[str, Any]) -> None:
        """Create, change or remove the value of one metric.

        Args:
            request: ``name``, ``description`` and one of the four types, as
                ``operator_sdk.util.osdk_metric`` sends them; beside them ``labels``, texts by name.
                The operation ``remove: true`` takes away all values that have these labels, and
                ``observe`` takes several numbers, too. The ``buckets`` of a histogram are those of
                its first observation.

        Raises:
            MetricError: with the text of the reply.
        """
        given = [kind for kind in TYPES if request.get(kind) is not None]
        if len(given) > 1:
            raise MetricError("only one metric can be processed at a time")
        if not given:
            raise MetricError("a request should contain at least one metric")
        [kind] = given
        operations, name = request[kind], request.get("name", "")
        if not isinstance(operations, Mapping) or not isinstance(name, str):
            raise MetricError(f"json: cannot unmarshal {kind}: an object with a name is needed")
        labels = _labels(request.get("labels"))
        family = self._find(name, kind, str(request.get("description") or ""))
        if family is None:
            return
        if _flag(operations, "remove"):
            family.remove(labels)
        elif labels in family.series or len(family.series) < MOST_SERIES:
            family.series.setdefault(labels, _MAKE[kind]()).apply(operations)
        else:
            raise MetricError(f"{name} has {MOST_SERIES} values already")

    def _find(self, name: str, kind: str, description: str) -> _Family | None:
        known = self._families.get(name)
        if known is not None:
            if known.kind != kind:
                was = known.kind if known.kind in {"counter", "gauge"} else "histogram or summary"
                raise MetricError(f"cannot change metric type of {name}, which is a {was}")
            return known
        if not _NAME.fullmatch(name) or self._is_taken(name):
            _log.error("Unable to register metric: its name is taken or invalid", name=name)
            return None
        return self._families.setdefault(name, _Family(kind, description))

    def _is_taken(self, name: str) -> bool:
        taken = {family.name for family in self._registry.collect()}
        return bool({name, name.removesuffix("_total")} & taken)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        families = sorted(self._families.items())
        lines = [line for name, family in families for line in family.lines(name)]
        return "".join(f"{line}\n" for line in lines).encode()


def _labels(given: Any) -> Labels:
    """Return the labels of a request.

    Raises:
        MetricError: they are no labels.
    """
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise MetricError(f"json: cannot unmarshal {_kind(given)} into field labels of type map")
    for name, value in given.items():
        if not _LABEL.fullmatch(name) or name == "le" or not isinstance(value, str):
            raise MetricError(f"label {name!r} must have a valid name, other than le, and a text")
    return tuple(sorted(given.items()))


def _series(name: str, labels: Labels) -> str:
    if not labels:
        return name
    shown = ",".join(f'{label}="{_escaped(value)}"' for label, value in labels)
    return f"{name}{{{shown}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _text(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
