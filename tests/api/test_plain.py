# SPDX-License-Identifier: Apache-2.0
"""What comes from Ansible becomes plain JSON; dates, which YAML makes of texts, become texts again."""

import datetime
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.plain import plain

UTC = datetime.UTC


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (datetime.datetime(2026, 1, 31, 10, 0, tzinfo=UTC), "2026-01-31T10:00:00Z"),
        (datetime.datetime(2026, 1, 31, 10, 0), "2026-01-31T10:00:00"),  # noqa: DTZ001
        ({"at": [datetime.date(2026, 1, 31)]}, {"at": ["2026-01-31"]}),
    ],
)
def test_dates(value: Any, expected: Any) -> None:
    assert plain(value) == expected


@pytest.mark.parametrize("value", [{1, 2}, b"x", object()])
def test_what_json_does_not_know_is_an_error(value: Any) -> None:
    with pytest.raises(TypeError, match="is not JSON"):
        plain(value)
