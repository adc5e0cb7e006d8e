# SPDX-License-Identifier: Apache-2.0
"""The error of reading a location."""

from __future__ import annotations

from ..api.errors import RenderingError


class InvalidLocation(RenderingError):
    """A text is no location; the message says what is wrong, and what to write where that is known.

    It does not name the field: whoever reads a resource adds that (`InvalidSpec`).
    """
