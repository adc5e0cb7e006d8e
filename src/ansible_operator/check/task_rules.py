# SPDX-License-Identifier: Apache-2.0
"""What of a task will not work, or works differently."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.check import installed
from ansible_operator.check.conditions import SINCE, Kind, kind_of
from ansible_operator.check.documents import Located
from ansible_operator.check.expressions import uses
from ansible_operator.check.findings import Finding, Severity
from ansible_operator.check.installed import State
from ansible_operator.check.project import Project
from ansible_operator.check.routing import Routing
from ansible_operator.check.tasks import BLOCKS, Task
from ansible_operator.check.variables import Variables

CONDITIONALS = ("when", "failed_when", "changed_when", "until")
_ASSERT = frozenset({"assert", "ansible.builtin.assert"})
_ROLES = frozenset({"include_role", "import_role"})
_FULL = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*\.\w[\w.]*")
_EMBEDDED = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PROXY = re.compile(r"\b(?:localhost|127\.0\.0\.1):8888\b")
_CONNECTIONS = frozenset({"host", "kubeconfig", "api_key", "context"})
_KUBERNETES = "kubernetes.core."
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class TaskRules:
    """The rules, with what they know of the project.

    Attributes:
        path: of the file, as it is reported.
        known: what the project says of the variables of the role.
        searched: collections whose modules may be named without them.
        role: that the file belongs to; None for a playbook.
        file: the file, from which names of other files start.
    """

    project: Project
    routing: Routing
    local: frozenset[str]
    path: str
    known: Variables
    searched: Sequence[str] = ()
    role: Path | None = None
    file: Path | None = None

    def check(self, task: Task) -> Iterator[Finding]:
        """Everything that is found in one task."""
        yield from self._conditionals(task)
        if task.module:
            yield from self._module(task)
            yield from self._role(task)
            yield from self._differences(task)
        for key, part in task.keys.items():
            if key not in BLOCKS and key not in CONDITIONALS and key != "name":
                yield from self.texts(part.strings())
            if key.startswith("with_"):
                yield from self._plugin("lookup", key.removeprefix("with_"), part.line)

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
        text = item.written.strip()
        if text.startswith("{{") and text.endswith("}}") and text.count("{{") == 1:
            text = text[2:-2].strip()
        if "{{" in text and item.text:
            yield from self._embedded(text, item.line)
            return
        if item.text:
            yield from self._plugins(Located("{{ " + text + " }}", item.line))
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

    def _embedded(self, text: str, line: int) -> Iterator[Finding]:
        """A conditional with templates in it, which older releases render before they judge it."""
        yield from self._plugins(Located(text, line))
        for inner in _EMBEDDED.findall(text):
            try:
                kind_of(inner, self.known)
            except ValueError as error:
                message = f"the conditional `{text}` cannot be parsed: {error}"
                yield self._found(line, Severity.ERROR, "conditional-syntax", message)
                return
        message = f"the conditional `{text}` has templates in it; write it without braces"
        yield self._found(line, Severity.ERROR, "conditional-template", message, SINCE)

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
        yield from self._installed(module, full, task.line)

    def _installed(self, module: str, full: str, line: int) -> Iterator[Finding]:
        """What an installed collection says of a module; the end of its redirections counts."""
        for _ in range(_MOST_REDIRECTS):
            collection, name = ".".join(full.split(".")[:2]), ".".join(full.split(".")[2:])
            folder = self.project.collection(collection)
            if folder is None or collection == "ansible.builtin":
                return
            found = installed.module(folder, name)
            if found.state is State.REMOVED:
                message = f"{module} is not in {collection} any more: {found.message}"
                yield self._found(line, Severity.ERROR, "module-removed", message)
            elif found.state is State.ABSENT:
                message = f"no module {name} is in the installed collection {collection}"
                yield self._found(line, Severity.ERROR, "module-unknown", message)
            if not found.redirect:
                return
            full = found.redirect

    def _searched(self, module: str) -> str:
        """The full name of a module of a collection that the role or a play lists.

        A collection that is not installed here may contain the module.
        """
        for name in self.searched:
            folder = self.project.collection(name)
            if folder is None or installed.module(folder, module).state is not State.ABSENT:
                return f"{name}.{module}"
        return ""

    def _collection(self, full: str, line: int, user: str) -> Iterator[Finding]:
        collection = ".".join(full.split(".")[:2])
        if collection == "ansible.builtin" or self.project.has_collection(collection):
            return
        message = f"{user} needs the collection {collection}, which is not required"
        yield self._found(line, Severity.ERROR, "collection-missing", message)

    def _role(self, task: Task) -> Iterator[Finding]:
        named = task.arguments.keys.get("name")
        if task.module.rpartition(".")[2] in _ROLES and named is not None:
            yield from self.roles([named])

    def roles(self, names: Iterable[Located]) -> Iterator[Finding]:
        """Roles that are named and are neither in the project nor installed with it."""
        for named in names:
            text = named.text
            if not text or "{{" in text or self.project.has_role(text, self.role):
                continue
            if _FULL.fullmatch(text):
                yield from self._collection(text, named.line, f"role {text}")
            elif not any(self._role_of(collection, text) for collection in self.searched):
                message = f"the role {text} is not in the project or its requirements"
                yield self._found(named.line, Severity.ERROR, "role-missing", message)

    def _role_of(self, collection: str, name: str) -> bool:
        """Whether a collection may have a role; one that is not installed here may."""
        folder = self.project.collection(collection)
        return folder is None or (folder / "roles" / name).is_dir()

    def files(self, names: Iterable[Located]) -> Iterator[Finding]:
        """Files of tasks and plays that are included and do not exist."""
        for named in names:
            if "{{" in named.text or not named.text.strip() or self.file is None:
                continue
            if _FULL.fullmatch(named.text) and not named.text.endswith((".yml", ".yaml")):
                continue
            if not self.project.files_named(named.text, self.file, self.role):
                message = f"the included file {named.text} does not exist"
                yield self._found(named.line, Severity.ERROR, "file-missing", message)

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
            yield from self._plugins(text)

    def template(self, text: str) -> Iterator[Finding]:
        """Everything that is found in the text of a template, by its lines."""
        lines = (Located(line, number) for number, line in enumerate(text.splitlines(), 1))
        for located in lines:
            if _PROXY.search(located.text):
                yield from self.texts([Located(_PROXY.findall(located.text)[0], located.line)])
        for use in uses(text):
            yield from self._plugin(use.kind, use.name, use.line)

    def _plugins(self, text: Located) -> Iterator[Finding]:
        for use in uses(text.text):
            yield from self._plugin(use.kind, use.name, text.line)

    def _plugin(self, kind: str, name: str, line: int) -> Iterator[Finding]:
        full = self.routing.redirects.get(kind, {}).get(name, name)
        if _FULL.fullmatch(full):
            yield from self._collection(full, line, f"{kind} {name}")
