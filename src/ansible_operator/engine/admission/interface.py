# SPDX-License-Identifier: Apache-2.0
"""What admission functions are asked, and what they answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from ansible_operator.errors import OperatorError


class AdmissionError(OperatorError):
    """Functions gave no usable answer.

    Attributes:
        reason: ``exception`` (one of them raised, or broke the contract), ``timeout``,
            ``died`` (its process ended) or ``unavailable`` (there is no process).
    """

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class Phase(StrEnum):
    """When a function is called."""

    DEFAULT = "default"
    """To fill in what an object leaves out; only the object of the answer counts."""
    VALIDATE = "validate"
    """To report what is wrong; only the errors of the answer count."""


@dataclass(frozen=True, slots=True)
class Function:
    """A filter plugin, by the name that a watch gives it.

    Attributes:
        name: as written.
        collection: ``namespace.name`` of the collection that short names are searched for in first.
        folder: the folder of the role or playbook; its ``filter_plugins`` and ``collections`` are
            searched, too.
    """

    name: str
    collection: str
    folder: Path

    @property
    def key(self) -> str:
        """Under which its process knows it."""
        return f"{self.collection}:{self.name}" if self.collection else self.name


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the functions of a watch.

    Attributes:
        functions: asked in this order.
        object: the object in question.
        request: the second argument of the functions (``docs/reference/admission.md``).
    """

    phase: Phase
    functions: tuple[Function, ...]
    object: Mapping[str, Any]
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the functions return.

    Attributes:
        object: the object with defaults; None when nothing was changed.
        errors: each with ``message`` and, where known, ``field`` and ``reason``.
        warnings: one sentence each.
    """

    object: dict[str, Any] | None = None
    errors: tuple[dict[str, str], ...] = ()
    warnings: tuple[str, ...] = field(default=())
