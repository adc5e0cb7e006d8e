# SPDX-License-Identifier: Apache-2.0
"""Options of the rendering tests."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden",
        action="store_true",
        help="write tests/golden anew instead of comparing with it",
    )
