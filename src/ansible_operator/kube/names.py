# SPDX-License-Identifier: Apache-2.0
"""Names of objects, and the only function that makes URL paths of them.

A name in a field, in an owner reference or in an annotation is the text of whoever wrote it: one
such as ``../../secrets/x`` would lead a request, or the removal of a folder, elsewhere.
"""

from urllib.parse import quote

from ansible_operator.errors import OperatorError

_LONGEST_SHOWN = 60


class InvalidNameError(OperatorError):
    """A text names no object that could exist."""


def is_name(text: str) -> bool:
    """Whether an object may have this name: what the API server takes for a segment of a path."""
    return text.isprintable() and text not in {"", ".", ".."} and not ("/" in text or "%" in text)


def api_path(*segments: str) -> str:
    """The path of a URL, percent-encoded; each segment is a name.

    Raises:
        InvalidNameError: one is not.
    """
    for segment in segments:
        if not is_name(segment):
            raise InvalidNameError(f"{segment[:_LONGEST_SHOWN]!r} names nothing in the API")
    return "".join(f"/{quote(segment, safe=':', errors='replace')}" for segment in segments)
