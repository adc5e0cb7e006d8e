# SPDX-License-Identifier: Apache-2.0
"""Whether a conditional is a boolean, which ansible-core 2.19 and newer insist on.

Older ones take the truth of any value: ``when: users | length``. The expression is parsed, not
evaluated; variables count as what the project says of them.
"""

from collections.abc import Iterable
from enum import IntEnum

from jinja2 import Environment, TemplateSyntaxError, nodes

from ansible_operator.check.variables import Variables

SINCE = "2.19"


class Kind(IntEnum):
    """What an expression can result in."""

    BOOLEAN = 0
    UNKNOWN = 1
    """It depends on a value that only a run has."""
    OTHER = 2
    """Something else than a boolean, at least for one outcome of its operands."""


_BOOLEAN_FILTERS = frozenset({"bool", "ansible.builtin.bool"})
_OTHER_FILTERS = frozenset(
    {
        "length",
        "count",
        "int",
        "float",
        "string",
        "list",
        "lower",
        "upper",
        "trim",
        "join",
        "replace",
        "regex_replace",
        "regex_search",
        "regex_findall",
        "b64decode",
        "b64encode",
        "to_json",
        "to_yaml",
        "to_nice_json",
        "to_nice_yaml",
        "from_yaml_all",
        "split",
        "sort",
        "unique",
        "union",
        "difference",
        "intersect",
        "select",
        "reject",
        "selectattr",
        "rejectattr",
        "map",
        "dict2items",
        "items2dict",
        "combine",
        "basename",
        "dirname",
        "hash",
        "quote",
        "indent",
        "abs",
        "round",
        "sum",
    }
)
_PARSER = Environment()  # noqa: S701  # nothing is rendered


def kind_of(expression: str, known: Variables, seen: frozenset[str] = frozenset()) -> Kind:
    """What a conditional results in.

    Args:
        expression: as in ``when``, without braces.
        known: what the project says of variables.
        seen: variables whose values contain this expression.

    Raises:
        ValueError: it is no expression.
    """
    try:
        parsed = _PARSER.parse("{{ (" + expression + ") }}")
    except TemplateSyntaxError as error:
        raise ValueError(str(error)) from error
    (output,) = parsed.body
    assert isinstance(output, nodes.Output)  # noqa: S101  # by construction
    return _Judge(known, seen).kind(output.nodes[0])


class _Judge:
    """Says what expressions result in.

    Args:
        known: what the project says of variables.
        seen: variables that are being judged: what contains itself is unknown.
    """

    def __init__(self, known: Variables, seen: frozenset[str]) -> None:
        self._known = known
        self._seen = seen

    def kind(self, node: nodes.Node) -> Kind:
        """What an expression results in."""
        kind = Kind.OTHER  # literals of lists and mappings, text that is joined, sums
        match node:
            case nodes.Compare() | nodes.Not() | nodes.Test():
                kind = Kind.BOOLEAN
            case nodes.And() | nodes.Or():
                kind = self._worst([node.left, node.right])
            case nodes.CondExpr():
                kind = self._worst([node.expr1, node.expr2])
            case nodes.Const():
                kind = self._of_value(node.value, self._seen)
            case nodes.Name():
                kind = self._of_variable(node.name)
            case nodes.Filter():
                kind = self._of_filter(node)
            case (
                nodes.Getattr(node=nodes.Name(name=name), attr=key)
                | nodes.Getitem(node=nodes.Name(name=name), arg=nodes.Const(value=key))
            ) if self._known.is_outcome(name, key):
                kind = Kind.BOOLEAN
            case nodes.Getattr() | nodes.Getitem() | nodes.Call():
                kind = Kind.UNKNOWN
            case _:
                pass
        return kind

    def _worst(self, operands: Iterable[nodes.Node | None]) -> Kind:
        return max(Kind.UNKNOWN if node is None else self.kind(node) for node in operands)

    def _of_variable(self, name: str) -> Kind:
        """Defaults are what a run has that sets nothing; other values are some of several."""
        values = self._known.values(name)
        if not values or name in self._seen:
            return Kind.UNKNOWN
        kind = max(self._of_value(value, self._seen | {name}) for value in values)
        return kind if name in self._known.defaults else min(kind, Kind.UNKNOWN)

    def _of_filter(self, node: nodes.Filter) -> Kind:
        if node.name in _BOOLEAN_FILTERS:
            return Kind.BOOLEAN
        if node.name in _OTHER_FILTERS:
            return Kind.OTHER
        if node.name in {"default", "d"}:
            fallback = self.kind(node.args[0]) if node.args else Kind.OTHER
            return max(self._worst([node.node]), fallback)
        if node.name in {"ternary", "ansible.builtin.ternary"} and len(node.args) > 1:
            return self._worst(node.args)
        return Kind.UNKNOWN

    def _of_value(self, value: object, seen: frozenset[str]) -> Kind:
        if isinstance(value, bool):
            return Kind.BOOLEAN
        if not isinstance(value, str) or ("{{" not in value and "{%" not in value):
            return Kind.OTHER
        text = value.strip()
        is_expression = text.startswith("{{") and text.endswith("}}") and text.count("{{") == 1
        if not is_expression:
            return Kind.UNKNOWN
        try:
            return min(kind_of(text[2:-2], self._known, seen), Kind.UNKNOWN)
        except ValueError:
            return Kind.UNKNOWN
