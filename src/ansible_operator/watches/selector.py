# SPDX-License-Identifier: Apache-2.0
"""Label selectors of watches."""

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_operator.errors import ConfigError

OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


@dataclass(frozen=True, slots=True)
class Requirement:
    """One ``matchExpressions`` entry."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil this requirement."""
        if self.operator == "Exists":
            return self.key in labels
        if self.operator == "DoesNotExist":
            return self.key not in labels
        found = self.key in labels and labels[self.key] in self.values
        return found if self.operator == "In" else not found


@dataclass(frozen=True, slots=True)
class Selector:
    """A ``selector`` as written; without requirements it selects everything."""

    match_labels: tuple[tuple[str, str], ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def validate(self) -> None:
        """Check the operators.

        Raises:
            ConfigError: with the text of the Go runner.
        """
        for requirement in self.requirements:
            if requirement.operator not in OPERATORS:
                raise ConfigError(
                    "error constructing predicate from watches selector: "
                    f'"{requirement.operator}" is not a valid label selector operator'
                )
            if bool(requirement.values) != (requirement.operator in {"In", "NotIn"}):
                raise ConfigError(
                    "error constructing predicate from watches selector: values of key "
                    f'"{requirement.key}" do not fit operator "{requirement.operator}"'
                )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return all(labels.get(key) == value for key, value in self.match_labels) and all(
            requirement.matches(labels) for requirement in self.requirements
        )
