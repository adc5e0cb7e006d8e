# SPDX-License-Identifier: Apache-2.0
"""What a user should know about the storage of a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def disk_cache_warnings(path: str, spec: Mapping[str, Any]) -> Iterator[str]:
    """Warn of a disk cache that has no volume."""
    size = (spec.get("sharedStorageCache") or {}).get("diskCacheSize")
    if size and not spec.get("cacheVolume"):
        yield (
            f"{path}.sharedStorageCache.diskCacheSize: without cacheVolume the cache takes up "
            "the container's own file system"
        )
