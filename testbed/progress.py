# SPDX-License-Identifier: Apache-2.0
"""Progress reports of long operations."""

from collections.abc import Callable

# Called with one line, from any thread, whenever a step begins or ends.
Progress = Callable[[str], None]


def silent(_line: str) -> None:
    """Report nothing."""
