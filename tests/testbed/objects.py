# SPDX-License-Identifier: Apache-2.0
"""Objects as kubectl shows them."""

import json
from typing import Any

from testbed import TestBed


def get(bed: TestBed, namespace: str, *args: str) -> dict[str, Any]:
    """Return an object, or a list, as kubectl shows it."""
    answer: dict[str, Any] = json.loads(bed.kubectl("get", "-n", namespace, *args, "-o", "json"))
    return answer
