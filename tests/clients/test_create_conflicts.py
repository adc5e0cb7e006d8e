# SPDX-License-Identifier: Apache-2.0
"""A creation that conflicts with something else than an object of its name has created nothing."""

from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.errors import (
    Conflict,
)

from tests.support.answers import Answers

SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "prod"}}


class InConflict(Answers):
    """Refuses to create anything, as an API server does while a quota is counted."""

    def request(self, method: str, path: str, *, body: Any = None, **more: Any) -> Any:
        if method == "POST":
            raise Conflict("the object has been modified", 409, "Conflict", [])
        return super().request(method, path, body=body, **more)


def test_what_was_not_created_is_not_taken_for_there() -> None:
    session: Any = InConflict()
    with pytest.raises(Conflict):
        Writer(session, field_manager="one").create_once(SECRET)
