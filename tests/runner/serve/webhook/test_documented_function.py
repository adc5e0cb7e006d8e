# SPDX-License-Identifier: Apache-2.0
"""The function that the page on admission shows works as the page says."""

from pathlib import Path

import pytest

from ansible_operator.engine.admission.contract import answer

DOCUMENT = Path(__file__).parents[4] / "docs/reference/admission.md"


@pytest.mark.parametrize(
    ("phase", "size", "old", "expected"),
    [
        ("default", None, None, {"object": 3}),
        ("validate", 3, None, {}),
        ("validate", 2, None, {"errors": ["must be odd"]}),
        ("validate", 3, 5, {"errors": ["cannot be lowered"]}),
        ("validate", 1, None, {"warnings": ["spec.size: a single one is not redundant"]}),
    ],
)
def test_the_documented_function(phase, size, old, expected):
    """What the page shows is what works."""
    text = DOCUMENT.read_text().partition("```python\n")[2].partition("```")[0]
    names = {}
    exec(text, names)  # noqa: S102 (the page is ours)
    spec = {} if size is None else {"size": size}
    obj = {"apiVersion": "v1", "kind": "Memcached", "spec": spec}
    request = {
        "operation": "UPDATE" if old else "CREATE",
        "old": {"spec": {"size": old}} if old else None,
    }
    call = {"phase": phase, "functions": ["memcached"], "object": obj, "request": request}
    said = answer(names["FilterModule"]().filters(), call)
    assert ((said["object"] or {}).get("spec") or {}).get("size") == expected.get("object")
    assert [error["message"] for error in said["errors"]] == expected.get("errors", [])
    assert said["warnings"] == expected.get("warnings", [])
