# SPDX-License-Identifier: Apache-2.0
"""How long work tells a caller what it does."""

from collections.abc import Callable

# Called with one line, from any thread, whenever a step begins or ends.
Progress = Callable[[str], None]


def silent(_line: str) -> None:
    """Tell nobody."""
