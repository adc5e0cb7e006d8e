# SPDX-License-Identifier: Apache-2.0
"""The kinds of objects that a role handles, as far as its files name them, and their rights."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.authoring.names import plural_of
from ansible_operator.authoring.yaml_text import Json

_FOLDERS = ("tasks", "handlers", "templates", "files")
_VERSION = re.compile(r"^(?P<indent>[\s-]*)(?:apiVersion|api_version):\s*[\"']?(?P<value>[\w./-]+)")
_KIND = re.compile(r"^(?P<indent>[\s-]*)kind:\s*[\"']?(?P<value>[A-Z]\w*)[\"']?\s*$")
_ABSENT = re.compile(r"^\s*state:\s*[\"']?absent", re.MULTILINE)
_VERBS = ("get", "list", "watch", "create", "patch")
"""kubernetes.core.k8s reads, creates and patches; the runner watches what it has created."""
_SAME_IN_PLURAL = frozenset({"Endpoints"})


@dataclass(frozen=True, slots=True, order=True)
class Handled:
    """A kind that a role reads or writes.

    Attributes:
        group: ``""`` for the core group.
    """

    group: str
    kind: str

    @property
    def plural(self) -> str:
        """Its name in rules of RBAC."""
        return self.kind.lower() if self.kind in _SAME_IN_PLURAL else plural_of(self.kind)


def handled_in(text: str) -> Iterator[Handled]:
    """The kinds that a text names by ``apiVersion`` and ``kind`` of the same mapping."""
    seen: dict[int, tuple[str, str]] = {}
    for line in text.splitlines():
        version, kind = _VERSION.match(line), _KIND.match(line)
        found = version or kind
        if found is None:
            indent = len(line) - len(line.lstrip())
            seen = {at: one for at, one in seen.items() if not line.strip() or at <= indent}
            continue
        at = len(found["indent"])
        before_version, before_kind = seen.get(at, ("", ""))
        api_version = version["value"] if version else before_version
        name = kind["value"] if kind else before_kind
        if api_version and name:
            yield Handled(api_version.rpartition("/")[0], name)
            seen.pop(at, None)
        else:
            seen[at] = (api_version, name)


def rules(role: Path) -> list[Json]:
    """Rules of RBAC for what the files of a role name; one per group and set of verbs."""
    paths = [path for part in _FOLDERS for path in sorted((role / part).rglob("*"))]
    return rules_of([path.read_text(errors="replace") for path in paths if path.is_file()])


def rules_of(texts: list[str]) -> list[Json]:
    """The same for the texts of the files."""
    verbs = [*_VERBS, *(["delete"] if any(map(_ABSENT.search, texts)) else [])]
    groups: dict[str, list[str]] = {}
    for one in sorted({handled for text in texts for handled in handled_in(text)}):
        groups.setdefault(one.group, []).append(one.plural)
    return [
        {"apiGroups": [group], "resources": plurals, "verbs": list(verbs)}
        for group, plurals in groups.items()
    ]
