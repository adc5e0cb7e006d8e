# SPDX-License-Identifier: Apache-2.0
"""The measure of the scenarios finds what it is for; no cluster is needed."""

import pytest

from tests.e2e.traffic import Traffic

ROWS = {0: 20.0, 1_000_000: 20.1, 2_000_000: 20.2}


def traffic(moments: dict[int, float], failures: list[float]) -> Traffic:
    return Traffic(None, "none", moments=moments, failures=failures)  # type: ignore[arg-type]


def test_service_after_an_outage() -> None:
    traffic(ROWS, [3.0, 9.9]).require_service_since(10.0)


@pytest.mark.parametrize(
    ("moments", "failures", "message"),
    [
        (ROWS, [3.0, 10.1], "errors after second 10.0: .10.1."),
        ({**ROWS, 0: 9.0}, [], "only writers .1, 2. were served"),
    ],
)
def test_no_service_after_an_outage(
    moments: dict[int, float], failures: list[float], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        traffic(moments, failures).require_service_since(10.0)
