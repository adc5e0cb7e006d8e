# SPDX-License-Identifier: Apache-2.0
"""An admission function of a collection."""

from __future__ import annotations


def bouncer(obj, request):
    """Lets in who is on the list."""
    del request
    guest = obj["spec"].get("guest", "")
    if guest in {"", "alice"}:
        return None
    return {"errors": [{"field": "spec.guest", "message": f"{guest} is not on the list"}]}


class FilterModule:
    """The filters of this file."""

    def filters(self):
        """Names and functions."""
        return {"bouncer": bouncer}
