# SPDX-License-Identifier: Apache-2.0
"""Metrics that roles define (runner.md §2.21): created on first use, kept in memory, no labels.

They are exposed under exactly the names that roles give; the Prometheus library would add
``_total`` to counters, so they are written out here.
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
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_log = get_logger("metrics-api")


class MetricError(OperatorError):
    """A request of a role is invalid; the message is the text of the answer."""


class _Metric(Protocol):
    """One metric of a role."""

    def apply(self, operations: Mapping[str, Any]) -> None:
        """Carry out the first operation of the request."""
        ...

    def samples(self, name: str) -> Iterator[str]:
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
    return float(value)


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

    def samples(self, name: str) -> Iterator[str]:
        yield f"{name} {_text(self.value)}"


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

    def samples(self, name: str) -> Iterator[str]:
        yield f"{name} {_text(self.value)}"


@dataclass(slots=True)
class _Summary:
    total: float = 0.0
    count: int = 0

    def apply(self, operations: Mapping[str, Any]) -> None:
        value = _number(operations, "observe")
        if value is not None:
            self.observe(value)

    def observe(self, value: float) -> None:
        self.total += value
        self.count += 1

    def samples(self, name: str) -> Iterator[str]:
        yield f"{name}_sum {_text(self.total)}"
        yield f"{name}_count {self.count}"


@dataclass(slots=True)
class _Histogram(_Summary):
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))

    def observe(self, value: float) -> None:
        _Summary.observe(self, value)
        self.buckets[bisect_left(BUCKETS, value)] += 1

    def samples(self, name: str) -> Iterator[str]:
        below = 0
        for limit, inside in zip((*BUCKETS, math.inf), self.buckets, strict=True):
            below += inside
            yield f'{name}_bucket{{le="{_text(limit)}"}} {below}'
        yield from _Summary.samples(self, name)


_MAKE: Mapping[str, Callable[[], _Metric]] = {
    "counter": _Counter,
    "gauge": _Gauge,
    "histogram": _Histogram,
    "summary": _Summary,
}


class UserMetrics:
    """The metrics of all roles of this process.

    Args:
        registry: metrics of the process itself, whose names roles cannot take.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._metrics: dict[str, tuple[str, str, _Metric]] = {}

    def handle(self, request: Mapping[str, Any]) -> None:
        """Create or change one metric.

        Args:
            request: ``name``, ``description`` and one of the four types, as
                ``operator_sdk.util.osdk_metric`` sends them.

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
        metric = self._find(name, kind, str(request.get("description") or ""))
        if metric is not None:
            metric.apply(operations)

    def _find(self, name: str, kind: str, description: str) -> _Metric | None:
        known = self._metrics.get(name)
        if known is not None:
            if known[0] != kind:
                was = known[0] if known[0] in {"counter", "gauge"} else "histogram or summary"
                raise MetricError(f"cannot change metric type of {name}, which is a {was}")
            return known[2]
        if not _NAME.fullmatch(name) or self._is_taken(name):
            _log.error("Unable to register metric: its name is taken or invalid", name=name)
            return None
        metric = _MAKE[kind]()
        self._metrics[name] = (kind, description, metric)
        return metric

    def _is_taken(self, name: str) -> bool:
        taken = {family.name for family in self._registry.collect()}
        return bool({name, name.removesuffix("_total")} & taken)

    def exposition(self) -> bytes:
        """All metrics in Prometheus' text format."""
        lines = []
        for name, (kind, description, metric) in sorted(self._metrics.items()):
            text = description.replace("\\", r"\\").replace("\n", r"\n")
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *metric.samples(name)]
        return "".join(f"{line}\n" for line in lines).encode()


def _text(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
