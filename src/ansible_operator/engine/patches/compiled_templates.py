# SPDX-License-Identifier: Apache-2.0
"""Templates and conditions compiled once per process, and not at each of their uses.

Up to 2.18 Jinja folds constants while it compiles, so that code depends on more than its source:
see ``folded_templates``.
"""

from collections.abc import Callable
from typing import Any

from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine.patches.versions import HAS_PROFILES


def install() -> None:
    """Have Ansible use what was compiled."""
    if not HAS_PROFILES:
        from ansible_operator.engine.patches import folded_templates

        folded_templates.install()
        return
    from ansible._internal._templating import _jinja_bits

    environment: Any = _jinja_bits.AnsibleEnvironment
    stock, stock_expression = environment.compile, environment.compile_expression
    known: dict[tuple[Any, ...], Any] = {}
    expressions: list[tuple[Any, ...]] = []

    def key_of(self: Any, source: str) -> tuple[Any, ...]:
        context = _jinja_bits._TemplateCompileContext.current(optional=True)
        escapes = bool(context and context.escape_backslashes)
        settings = (getattr(self, name) for name in _jinja_bits._TEMPLATE_OVERRIDE_FIELD_NAMES)
        return (str(source), type(self), escapes, *settings)

    def compile_source(self: Any, source: Any, *arguments: Any, **options: Any) -> Any:
        if arguments or options:
            return stock(self, source, *arguments, **options)
        if not isinstance(source, str):
            code = stock(self, source)
            if expressions:
                known[expressions.pop()] = code
            return code
        key = key_of(self, source)
        if key not in known:
            known[key] = stock(self, source)
        return known[key]

    def compile_expression(self: Any, source: str, undefined_to_none: bool = True) -> Any:
        key = (*key_of(self, source), "expression")
        code = known.get(key)
        if code is None:
            expressions.append(key)
            try:
                return stock_expression(self, source, undefined_to_none)
            finally:
                expressions.clear()
        template = self.template_class.from_code(self, code, self.make_globals(None), None)
        return _jinja_bits.TemplateExpression(template, undefined_to_none)

    environment.compile = compile_source
    environment.compile_expression = compile_expression


def compiler(loader: DataLoader) -> Callable[[str, bool], None]:
    """What compiles a template (False) or a condition (True) ahead, as a play would."""
    if not HAS_PROFILES:
        from ansible_operator.engine.patches import folded_templates

        return folded_templates.compiler(loader)
    from ansible._internal._templating._engine import TemplateEngine, TemplateOptions

    engine: Any = TemplateEngine(loader=loader)
    condition = TemplateOptions(escape_backslashes=False, preserve_trailing_newlines=False)

    def compile_ahead(source: str, is_condition: bool) -> None:
        if is_condition:
            engine._compile_expression(source.strip(), condition)
        else:
            engine._compile_template(source, TemplateOptions.DEFAULT)

    return compile_ahead


def file_compiler(loader: DataLoader) -> Callable[[str], None]:
    """What compiles a template file ahead by its path, as a play would without options for it."""
    if not HAS_PROFILES:
        from ansible_operator.engine.patches import folded_templates

        return folded_templates.file_compiler(loader)
    from ansible._internal._templating._engine import TemplateEngine, TemplateOptions

    engine: Any = TemplateEngine(loader=loader)
    options = TemplateOptions(escape_backslashes=False)

    def compile_ahead(path: str) -> None:
        engine._compile_template(loader.get_text_file_contents(path), options)

    return compile_ahead
