# SPDX-License-Identifier: Apache-2.0
"""Names of users and databases."""

from __future__ import annotations

import re
from typing import Final

from ..api.errors import InvalidSpec
from ..api.fields import Fields
from ..api.types import Resource

NAME_FIELD: Final = "spec.name"
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def name_in_database(resource: Resource) -> str:
    """Return the name in the database: ``spec.name``, else that of the resource.

    Raises:
        InvalidSpec: nothing can have this name.
    """
    name = Fields("", resource).table("spec").text("name") or str(resource["metadata"]["name"])
    if not _NAME.fullmatch(name):
        raise InvalidSpec(
            NAME_FIELD,
            "must be 1 to 63 lower-case letters, digits, _ and -, and begin with a letter; it is "
            "the name of the resource if it is not set",
        )
    return name
