# SPDX-License-Identifier: Apache-2.0
"""How a database is talked to without a client: a generator of statements.

It yields statements, gets the rows of each, and returns what came of it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, TypeVar

Statement = tuple[str, tuple[Any, ...]]
"""As `clients.sql` has it."""
Rows = Sequence[Sequence[Any]]
T = TypeVar("T")
Conversation = Generator[Statement, Rows, T]
