# SPDX-License-Identifier: Apache-2.0
"""Waiting in tests, and reading objects."""

import json
import time
from collections.abc import Callable
from typing import Any

from testbed import TestBed


def eventually(check: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Return whether the check comes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.1)
    return check()


def get(bed: TestBed, namespace: str, *args: str) -> dict[str, Any]:
    """Return an object, or a list, as kubectl shows it."""
    answer: dict[str, Any] = json.loads(bed.kubectl("get", "-n", namespace, *args, "-o", "json"))
    return answer
