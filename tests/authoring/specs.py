# SPDX-License-Identifier: Apache-2.0
"""Argument specs of roles, drawn at random."""

from typing import Any

from hypothesis import strategies as st

from ansible_operator.authoring.options import parse
from ansible_operator.authoring.schema import field_name
from ansible_operator.errors import ConfigError


def is_option(name: str) -> bool:
    """Tell whether a field can become it; a few names with digits cannot, such as a0a0."""
    try:
        return bool(field_name(parse({name: {}})[0]))
    except ConfigError:
        return False


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,5}){0,3}", fullmatch=True).filter(is_option)
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "str": st.text(max_size=5),
    "int": st.integers(-9, 9),
    "float": st.floats(-9, 9, allow_nan=False),
    "bool": st.booleans(),
}
JSON = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text(max_size=4) | st.sampled_from(["yes", "1", "1.5", "[]", "5K"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@st.composite
def option_specs(draw: Any, depth: int = 2) -> dict[str, Any]:
    """Describe an option as an argument spec does."""
    kinds = [*SCALARS, "bytes", "bits", "raw", "list", *(["dict"] if depth else [])]
    spec: dict[str, Any] = {"type": draw(st.sampled_from(kinds))}
    if spec["type"] == "list":
        spec["elements"] = draw(st.sampled_from([*SCALARS, *(["dict"] if depth else [])]))
    inner = spec.get("elements", spec["type"])
    if inner == "dict" and draw(st.booleans()):
        spec["options"] = draw(st.dictionaries(NAMES, option_specs(depth - 1), min_size=1, max_size=3))  # fmt: skip
    if inner in ("str", "int") and draw(st.booleans()):
        spec["choices"] = draw(st.lists(SCALARS[inner], min_size=1, max_size=3))
    spec["required"] = draw(st.booleans())
    if spec["type"] in SCALARS and not spec["required"] and draw(st.booleans()):
        spec["default"] = draw(
            st.sampled_from(spec["choices"]) if "choices" in spec else SCALARS[spec["type"]]
        )
    return spec
