# SPDX-License-Identifier: Apache-2.0
"""Values change in a text, whose comments and style stay."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.authoring.yaml_text import (
    NotEditableError,
    appended,
    documents,
    replaced,
)

FILE = """\
# begins
a:
  - name: v1  # the first
    spec:
      old: true
      # of old

    # of status
    status: {x: 1}
b: [1]   # ends
"""


def test_a_value_is_replaced_and_nothing_else() -> None:
    assert (
        replaced(FILE, ("a", 0, "spec"), {"new": {"deep": [1]}})
        == """\
# begins
a:
  - name: v1  # the first
    spec:
      new:
        deep:
          - 1
      # of old

    # of status
    status: {x: 1}
b: [1]   # ends
"""
    )


@pytest.mark.parametrize(
    ("text", "path", "item", "after"),
    [
        ("- a\n", (), "b", "- a\n- b\n"),
        ("- a", (), "b", "- a\n- b\n"),
        ("- a\n# end\n", (), {"x": 1, "y": [2]}, "- a\n- x: 1\n  y:\n    - 2\n# end\n"),
        ("r:\n- a\nz: 1\n", ("r",), "b", "r:\n- a\n- b\nz: 1\n"),
        ("r:\n  - a # x\n\nz: 1\n", ("r",), "b", "r:\n  - a # x\n  - b\n\nz: 1\n"),
        ("r: [a] # x\n", ("r",), "b", "r: [a, b] # x\n"),
        ("r: []\n", ("r",), "b", "r: [b]\n"),
        ("r: [a]\n", ("r",), {"x": 1}, "r: [a, {x: 1}]\n"),
        ("---\n- |\n  a\n  # no comment\n", (), "b", None),
    ],
)
def test_an_item_is_appended(text: str, path: Any, item: object, after: str | None) -> None:
    if after is None:
        with pytest.raises(NotEditableError):
            appended(text, path, item)
    else:
        assert appended(text, path, item) == after


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a: 1\n", ("a",)),
        ("a: 1\n", ("r",)),
        ("", ("r",)),
        ("r: {a: 1}\n", ("r",)),
        ("r: &x [a]\nz: *x\n", ("r",)),
        ("a: [", ("a",)),
    ],
)
def test_what_has_no_such_list_stays(text: str, path: Any) -> None:
    with pytest.raises((NotEditableError, yaml.YAMLError)):
        appended(text, path, "b")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_written_is_read(value: object) -> None:
    assert list(yaml.safe_load_all(documents(value, value))) == [value, value]


@given(VALUES, VALUES)
def test_a_replaced_value_is_read_beside_the_others(old: object, new: object) -> None:
    text = documents({"a": {"spec": old, "status": old}, "b": old})
    try:
        after = replaced(text, ("a", "spec"), new)
    except NotEditableError:  # text of several lines may end like a comment
        assert "#" in repr(old) or "\\n" in repr(old) or "\\" in repr(old)
        return
    assert yaml.safe_load(after) == {"a": {"spec": new, "status": old}, "b": old}
