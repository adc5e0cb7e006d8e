# SPDX-License-Identifier: Apache-2.0
"""What of a task will not work, or works differently."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ansible_operator.check.conditions import SINCE, Kind, kind_of
from ansible_operator.check.documents import Located
from ansible_operator.check.findings import Finding, Severity
from ansible_operator.check.project import Project
from ansible_operator.check.routing import Routing
from ansible_operator.check.tasks import Task
from ansible_operator.check.variables import Variables

CONDITIONALS = ("when", "failed_when", "changed_when", "until")
_ASSERT = frozenset({"assert", "ansible.builtin.assert"})
_ROLES = frozenset({"include_role", "import_role"})
_FILTER = re.compile(r"\|\s*([A-Za-z_][\w.]*)")
_LOOKUP = re.compile(r"\b(?:lookup|query|q)\(\s*['\"]([\w.]+)['\"]")
_PROXY = re.compile(r"\b(?:localhost|127\.0\.0\.1):8888\b")
_CONNECTIONS = frozenset({"host", "kubeconfig", "api_key", "context"})
_KUBERNETES = "kubernetes.core."


@dataclass(frozen=True)
class TaskRules:
    """The rules, with what they know of the project.

    Attributes:
        path: of the file, as it is reported.
        known: what the project says of the variables of the role.
        searched: collections whose modules may be named without them.
    """

    project: Project
    routing: Routing
    local: frozenset[str]
    path: str
    known: Variables
    searched: Sequence[str] = ()

    def check(self, task: Task) -> Iterator[Finding]:
        """Everything that is found in one task."""
        yield from self._conditionals(task)
        if task.module:
            yield from self._module(task)
            yield from self._role(task)
            yield from self._differences(task)
        if task.module or task.keys.get("vars"):
            inside = [task.arguments, *(task.keys[k] for k in ("vars", "loop") if k in task.keys)]
            yield from self.texts(text for part in inside for text in part.strings())

    def _found(
        self, line: int, severity: Severity, code: str, message: str, since: str = ""
    ) -> Finding:
        return Finding(self.path, line, severity, code, message, since)

    def _conditionals(self, task: Task) -> Iterator[Finding]:
        given = [task.keys[name] for name in CONDITIONALS if name in task.keys]
        if task.module in _ASSERT and "that" in task.arguments.keys:
            given.append(task.arguments.keys["that"])
        for conditional in given:
            for item in conditional.items or [conditional]:
                yield from self._conditional(item)

    def _conditional(self, item: Located) -> Iterator[Finding]:
        if isinstance(item.value, bool) or item.value is None:
            return
        text = str(item.value).strip()
        if text.startswith("{{") and text.endswith("}}"):
            text = text[2:-2].strip()
        try:
            kind = kind_of(text, self.known)
        except ValueError as error:
            message = f"the conditional `{text}` cannot be parsed: {error}"
            yield self._found(item.line, Severity.ERROR, "conditional-syntax", message)
            return
        if kind is Kind.OTHER:
            message = f"the conditional `{text}` is not a boolean; compare it, or add `| bool`"
            yield self._found(item.line, Severity.ERROR, "conditional-not-boolean", message, SINCE)
        elif kind is Kind.UNKNOWN:
            message = f"the conditional `{text}` fails if it is not a boolean"
            code = "conditional-maybe-not-boolean"
            yield self._found(item.line, Severity.WARNING, code, message, SINCE)

    def _module(self, task: Task) -> Iterator[Finding]:
        module = task.module
        if "{{" in module or module in self.local:
            return
        short = module.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
        if short in self.routing.removed:
            message = f"{module} is not in ansible-core any more: {self.routing.removed[short]}"
            yield self._found(task.line, Severity.ERROR, "module-removed", message)
            return
        full = self.routing.full_name(module)
        if not full:
            full = self._searched(module)
        if not full:
            if self.routing.modules:
                message = f"no module {module} is in ansible-core or in the project"
                yield self._found(task.line, Severity.ERROR, "module-unknown", message)
            return
        yield from self._collection(full, task.line, f"module {module}")

    def _searched(self, module: str) -> str:
        """The full name of a module of a collection that the role or a play lists.

        A collection that is not installed here may contain the module.
        """
        for name in self.searched:
            folder = self.project.collection(name)
            if folder is None or (folder / "plugins" / "modules" / f"{module}.py").exists():
                return f"{name}.{module}"
        return ""

    def _collection(self, full: str, line: int, user: str) -> Iterator[Finding]:
        collection = ".".join(full.split(".")[:2])
        if collection == "ansible.builtin" or self.project.has_collection(collection):
            return
        message = f"{user} needs the collection {collection}, which requirements.yml does not name"
        yield self._found(line, Severity.ERROR, "collection-missing", message)

    def _role(self, task: Task) -> Iterator[Finding]:
        named = task.arguments.keys.get("name")
        if task.module.rpartition(".")[2] not in _ROLES or named is None or "{{" in named.text:
            return
        if named.text.count(".") == 2:
            yield from self._collection(named.text, named.line, f"role {named.text}")
        elif named.text and named.text not in {role.name for role in self.project.roles}:
            message = f"the role {named.text} is not in roles/"
            yield self._found(named.line, Severity.ERROR, "role-missing", message)

    def _differences(self, task: Task) -> Iterator[Finding]:
        full = self.routing.full_name(task.module) or task.module
        if task.module.rpartition(".")[2] == "requeue_after":
            message = "the play goes on to its end, and the time to the next run begins there"
            yield self._found(task.line, Severity.NOTE, "requeue-after", message)
        if full.startswith(_KUBERNETES) and _CONNECTIONS & task.arguments.keys.keys():
            message = (
                "with a connection of its own the task bypasses the proxy: what it creates has no "
                "owner and is not watched"
            )
            yield self._found(task.line, Severity.NOTE, "proxy-bypassed", message)
        for name in ("become", "async"):
            if name in task.keys and task.keys[name].value not in (False, 0):
                message = f"with `{name}`, the task starts a Python of its own, as in any play"
                yield self._found(task.keys[name].line, Severity.NOTE, "slow-path", message)

    def texts(self, texts: Iterable[Located]) -> Iterator[Finding]:
        """Everything that is found in templates and plain texts."""
        for text in texts:
            if _PROXY.search(text.text):
                message = (
                    "requests to the proxy need the token of the run, which is in its kubeconfig; "
                    "others are answered with 401"
                )
                yield self._found(text.line, Severity.ERROR, "proxy-token", message)
            if "{{" in text.text or "{%" in text.text:
                yield from self._plugins(text)

    def _plugins(self, text: Located) -> Iterator[Finding]:
        for kind, pattern in (("filter", _FILTER), ("lookup", _LOOKUP)):
            for name in dict.fromkeys(pattern.findall(text.text)):
                full = self.routing.redirects.get(kind, {}).get(name, name)
                if full.count(".") == 2:
                    yield from self._collection(full, text.line, f"{kind} {name}")
