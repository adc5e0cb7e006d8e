# SPDX-License-Identifier: Apache-2.0
"""Templates and conditions compiled once per process, up to ansible-core 2.18.

There Jinja folds constants while it compiles: it calls filters and tests whose arguments are all
constants, and the code keeps what they answered. Such code is not kept. Code also depends on which
filters and tests want the context or the environment as an argument; this is compared at each use.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from ansible import template as templating
from ansible.parsing.dataloader import DataLoader
from jinja2 import Environment

_KINDS = ("filters", "tests")
_SETTINGS = (
    *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
    *("comment_start_string", "comment_end_string", "line_statement_prefix"),
    *("line_comment_prefix", "trim_blocks", "lstrip_blocks", "newline_sequence"),
    *("keep_trailing_newline", "optimized", "autoescape", "is_async"),
)
"""What the code of a template depends on, besides its source, its extensions and its plugins."""
_CONDITION = (
    "{{% set __cres = {} %}}{{{{ [true if __cres else false, __cres.__class__.__name__] }}}}"
)
"""What Ansible makes of a condition. Where it makes something else, that is compiled at its use."""


class _Compiled(NamedTuple):
    """The code of a template, and by kind the plugins that it names, each with what it wants."""

    code: CodeType
    wants: Mapping[str, Mapping[str, object]]

    def fits(self, environment: Any) -> bool:
        """Whether the plugins of an environment want what those did for which it was compiled."""
        return all(
            _wanted(getattr(environment, kind).get(name)) == wanted
            for kind, plugins in self.wants.items()
            for name, wanted in plugins.items()
        )


class _Plugins:
    """The filters or tests of an environment, observed while a template is compiled.

    Attributes:
        wants: what each that was named wants, by name.
        folded: names of those that were called.
    """

    def __init__(self, plugins: Any) -> None:
        self._plugins = plugins
        self.wants: dict[str, object] = {}
        self.folded: list[str] = []

    def get(self, name: str) -> Callable[..., Any] | None:
        """Return a filter or test by name."""
        plugin = self._plugins.get(name)
        self.wants[name] = _wanted(plugin)
        if plugin is None:
            return None

        def observed(*arguments: Any, **options: Any) -> Any:
            self.folded.append(name)
            return plugin(*arguments, **options)

        vars(observed).update(getattr(plugin, "__dict__", {}))
        return observed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plugins, name)


def _wanted(plugin: object) -> object:
    """What a filter or test wants as its first argument, as Jinja's decorators have noted it."""
    return plugin is None or getattr(plugin, "jinja_pass_arg", None)


def install() -> None:
    """Have Ansible use what was compiled."""
    environment_type: Any = templating.AnsibleEnvironment
    stock = environment_type.compile
    known: dict[tuple[Any, ...], _Compiled] = {}

    def compile_source(self: Any, source: Any, *arguments: Any, **options: Any) -> Any:
        if arguments or options or not isinstance(source, str):
            return stock(self, source, *arguments, **options)
        key = _key(self, source)
        found = known.get(key)
        if found is not None and found.fits(self):
            return found.code
        with _observed(self) as plugins:
            code = stock(self, source)
        if not any(one.folded for one in plugins.values()):
            known[key] = _Compiled(code, {kind: one.wants for kind, one in plugins.items()})
        return code

    environment_type.compile = compile_source


def _key(environment: Any, source: str) -> tuple[Any, ...]:
    settings = (getattr(environment, name) for name in _SETTINGS)
    return (str(source), type(environment), *sorted(environment.extensions), *settings)


@contextmanager
def _observed(environment: Any) -> Iterator[dict[str, _Plugins]]:
    plugins = {kind: getattr(environment, kind) for kind in _KINDS}
    observed = {kind: _Plugins(found) for kind, found in plugins.items()}
    vars(environment).update(observed)
    try:
        yield observed
    finally:
        vars(environment).update(plugins)


_LEFT_TO_THE_PLAY = suppress(Exception)
"""What is wrong with a template, or with a plugin that it names, is reported where it is used."""


def compiler(loader: DataLoader) -> Callable[[str, bool], None]:
    """What compiles a template (False) or a condition (True) ahead, as a play would."""
    environment: Environment = templating.Templar(loader).environment

    def compile_ahead(source: str, is_condition: bool) -> None:
        text = _CONDITION.format(source) if is_condition else source
        with _LEFT_TO_THE_PLAY:
            environment.compile(templating._escape_backslashes(text, environment))

    return compile_ahead


def file_compiler(loader: DataLoader) -> Callable[[str], None]:
    """What compiles a template file ahead by its path, as a play would without options for it."""
    environment: Environment = templating.Templar(loader).environment

    def compile_ahead(path: str) -> None:
        text = Path(path).read_bytes().decode()
        with _LEFT_TO_THE_PLAY:
            source, overlay = templating._create_overlay(text, None, environment)
            overlay.compile(source)

    return compile_ahead
