# SPDX-License-Identifier: Apache-2.0
"""Read lists whole, and nothing else for a list: none of these objects is what others decide on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .errors import ApiError
from .session import Session

_MOST_PAGES: Final = 2000


def listed(
    session: Session, path: str, *, attempt: str, query: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the objects of a list, of all its pages.

    Args:
        session: connection to the API server.
        path: of the collection.
        attempt: what this tries to do, for messages.
        query: query parameters.

    Raises:
        ApiError: the server refuses, what it answers is no list, or the list does not end.
        BadConnection: there was no answer.
    """
    asked, found = dict(query or {}), list[dict[str, Any]]()
    for _page in range(_MOST_PAGES):
        page = session.request("GET", path, attempt=attempt, query=asked or None)
        found += items_of(page, attempt)
        more = page["metadata"].get("continue") if isinstance(page.get("metadata"), dict) else None
        if not more:
            return found
        if more == asked.get("continue") or not isinstance(more, str):
            break
        asked["continue"] = more
    raise ApiError(f"{attempt}: the list does not end", 200, "", [])


def items_of(page: Mapping[str, Any], attempt: str) -> list[dict[str, Any]]:
    """Return the objects in one page of a list; a list of nothing may have null.

    Raises:
        ApiError: it is no list of objects.
    """
    items = page.get("items", "")
    if items is None:
        return []
    if not isinstance(items, list) or not all(map(_is_named, items)):
        raise ApiError(f"{attempt}: the answer is no list of objects", 200, "", [])
    return items


def _is_named(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return isinstance(name, str) and bool(name)
