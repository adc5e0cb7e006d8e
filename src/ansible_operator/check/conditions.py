# SPDX-License-Identifier: Apache-2.0
"""Whether a conditional is a boolean, which ansible-core 2.19 and newer insist on.

Older ones take the truth of any value: ``when: users | length``. The expression is parsed, not
evaluated; variables count as what the defaults of the role say.
"""

from collections.abc import Mapping
from enum import IntEnum

from jinja2 import Environment, TemplateSyntaxError, nodes

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


def kind_of(expression: str, known: Mapping[str, object]) -> Kind:
    """What a conditional results in.

    Args:
        expression: as in ``when``, without braces.
        known: values of variables from the defaults of the role.

    Raises:
        ValueError: it is no expression.
    """
    try:
        parsed = _PARSER.parse("{{ (" + expression + ") }}")
    except TemplateSyntaxError as error:
        raise ValueError(str(error)) from error
    (output,) = parsed.body
    assert isinstance(output, nodes.Output)  # noqa: S101  # by construction
    return _kind(output.nodes[0], known)


def _kind(node: nodes.Node, known: Mapping[str, object]) -> Kind:
    kind = Kind.OTHER  # literals of lists and mappings, text that is joined, sums
    match node:
        case nodes.Compare() | nodes.Not() | nodes.Test():
            kind = Kind.BOOLEAN
        case nodes.And() | nodes.Or():
            kind = max(_kind(node.left, known), _kind(node.right, known))
        case nodes.CondExpr():
            other = _kind(node.expr2, known) if node.expr2 is not None else Kind.UNKNOWN
            kind = max(_kind(node.expr1, known), other)
        case nodes.Const():
            kind = _of_value(node.value)
        case nodes.Name():
            kind = _of_value(known[node.name]) if node.name in known else Kind.UNKNOWN
        case nodes.Filter():
            kind = _of_filter(node, known)
        case nodes.Getattr() | nodes.Getitem() | nodes.Call():
            kind = Kind.UNKNOWN
        case _:
            pass
    return kind


def _of_filter(node: nodes.Filter, known: Mapping[str, object]) -> Kind:
    if node.name in _BOOLEAN_FILTERS:
        return Kind.BOOLEAN
    if node.name in _OTHER_FILTERS:
        return Kind.OTHER
    if node.name in {"default", "d"}:
        given = _kind(node.node, known) if node.node is not None else Kind.UNKNOWN
        fallback = _kind(node.args[0], known) if node.args else Kind.OTHER
        return max(given, fallback)
    return Kind.UNKNOWN


def _of_value(value: object) -> Kind:
    if isinstance(value, bool):
        return Kind.BOOLEAN
    is_template = isinstance(value, str) and ("{{" in value or "{%" in value)
    return Kind.UNKNOWN if is_template else Kind.OTHER
