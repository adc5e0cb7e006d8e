# SPDX-License-Identifier: Apache-2.0
"""Texts of peers, as messages may quote them."""

from __future__ import annotations

from typing import Final

LONGEST: Final = 300


def shown(text: str, longest: int = LONGEST) -> str:
    """Return a text without control characters, cut to a length.

    Messages go to terminals, logs and the status of a resource; whoever answers instead of a
    database chooses what is in them.
    """
    head = text[: longest + 1]
    plain = "".join(one if one.isprintable() else " " for one in head)
    return plain if len(plain) <= longest else f"{plain[:longest]}..."
