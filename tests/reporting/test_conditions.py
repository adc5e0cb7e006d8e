# SPDX-License-Identifier: Apache-2.0
"""Conditions that an API server accepts, whatever is quoted in them."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.conditions import (
    condition,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.reporting.reasons import (
    ConditionType,
    Reason,
)

LARGEST = 32_768
"""Characters of a message, by the schema."""


@pytest.mark.parametrize("length", [0, 10, 8192, 8193, 1_000_000])
def test_a_message_is_cut_where_the_status_would_be_refused(length: int) -> None:
    text = "x" * length
    found = condition(ConditionType.SYNCED, False, Reason.INVALID_SPEC, text, 1)["message"]
    assert len(found) <= LARGEST
    assert found == text if length <= 8192 else found.endswith("x...")
