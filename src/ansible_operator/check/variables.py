# SPDX-License-Identifier: Apache-2.0
"""What a project says of the values of its variables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ansible_operator.check.documents import Located
from ansible_operator.check.tasks import is_playbook, tasks_of

_FACTS = frozenset({"set_fact", "ansible.builtin.set_fact"})
_RESULTS = frozenset({"changed", "failed", "skipped"})


@dataclass(frozen=True, slots=True)
class Variables:
    """Variables of a role.

    Attributes:
        defaults: values in its defaults.
        assigned: values that tasks, plays and roles of the project give them.
        registered: those that are results of tasks.
    """

    defaults: Mapping[str, object] = field(default_factory=dict)
    assigned: Mapping[str, Sequence[object]] = field(default_factory=dict)
    registered: frozenset[str] = frozenset()

    def values(self, name: str) -> Sequence[object]:
        """What a variable can be; nothing if the project does not say it.

        The defaults of a role tell what a user sees who sets nothing, whatever tasks set later.
        """
        if name in self.defaults:
            return [self.defaults[name]]
        return self.assigned.get(name, ())

    def is_outcome(self, name: str, key: object) -> bool:
        """Whether a key of a variable is a boolean that Ansible itself sets in each result."""
        return name in self.registered and key in _RESULTS


def assigned(documents: Iterable[Located]) -> dict[str, list[object]]:
    """Return what the tasks and plays of files assign to variables."""
    found: dict[str, list[object]] = {}
    for document in documents:
        places = [play.keys.get("vars") for play in document.items if is_playbook(document)]
        for task in tasks_of(document):
            places.append(task.keys.get("vars"))
            places.append(task.arguments if task.module in _FACTS else None)
        for place in filter(None, places):
            for name, item in place.keys.items():
                found.setdefault(name, []).append(item.value)
    return found


def registered(documents: Iterable[Located]) -> set[str]:
    """Return the variables that tasks of files register their results as."""
    tasks = (task for document in documents for task in tasks_of(document))
    return {task.keys["register"].text for task in tasks if "register" in task.keys}
