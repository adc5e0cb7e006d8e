# SPDX-License-Identifier: Apache-2.0
"""Admission functions of every temper."""

import os
import sys
import time
from pathlib import Path

from jinja2 import pass_context


def sized(obj, request):
    """Size defaults to 3, must be positive, cannot shrink; one alone is warned about."""
    spec = obj.get("spec") or {}
    if request["phase"] == "default":
        return {"object": {**obj, "spec": {"size": 3, **spec}}}
    size, errors = spec.get("size", 3), []
    old = (request["old"] or {}).get("spec", {})
    if request["operation"] == "DELETE" and spec.get("keep"):
        errors.append({"field": "spec.keep", "message": "is set, so it stays"})
    if size < 1:
        errors.append({"field": "spec.size", "message": "must be positive"})
    if request["operation"] == "UPDATE" and size < old.get("size", 0):
        errors.append(
            {"field": "spec.size", "message": "cannot shrink", "reason": "FieldValueForbidden"}
        )
    warnings = ["spec.size: a single one is not redundant"] if size == 1 else []
    return {"errors": errors, "warnings": warnings}


def _raise(_obj):
    raise ValueError("a bad mood")


def _spin(_obj):
    while True:
        pass


def _nap(obj):
    Path(obj["spec"]["file"]).write_text(str(os.getpid()))
    time.sleep(1)


_MOODS = {
    "raise": _raise,
    "exit": lambda _obj: sys.exit(3),
    "die": lambda _obj: os._exit(7),
    "sleep": lambda _obj: time.sleep(60),
    "spin": _spin,
    "nap": _nap,
    "echo": lambda obj: {"warnings": [obj["spec"]["text"]]},
    "number": lambda _obj: 1,
    "unknown": lambda _obj: {"refusals": []},
    "error": lambda _obj: {"errors": [{"field": "spec.mood"}]},
    "texts": lambda _obj: {"errors": "spec.mood is bad"},
    "kind": lambda obj: {"object": {**obj, "kind": "Other"}, "errors": []},
    "set": lambda obj: {"object": {**obj, "spec": {"mood": {1, 2}}}},
}


def moody(obj, request):
    """Does what ``spec.mood`` says."""
    del request
    mood = (obj.get("spec") or {}).get("mood")
    return _MOODS[mood](obj) if mood in _MOODS else None


@pass_context
def contextual(context, obj, request):
    """Needs what only a template has."""
    return {}


class FilterModule:
    """The filters of this file."""

    def filters(self):
        """Names and functions."""
        return {"sized": sized, "moody": moody, "contextual": contextual}
