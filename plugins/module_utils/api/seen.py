# SPDX-License-Identifier: Apache-2.0
"""Write an object only as it was read.

Two operators may be at work for some seconds, as when one stood still while its lease ended. What
such a one has decided about the past must not replace what the other has recorded since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_seen(found: Mapping[str, Any]) -> dict[str, str]:
    """Return what of an object's metadata makes a write depend on the version that was read.

    Nothing for an object that does not come from an API server, as when manifests are rendered.
    """
    version = str(found["metadata"].get("resourceVersion") or "")
    return {"resourceVersion": version} if version else {}
