# SPDX-License-Identifier: Apache-2.0
"""The messages of MatrixOne's control services, as tables.

Field and message names are the database's own. What a client never needs is declared as bytes, so
that it is skipped without being looked into, or left out: credentials are not even decoded.
"""

from __future__ import annotations

from . import logservice, services

__all__ = ["logservice", "services"]
