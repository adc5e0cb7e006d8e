# SPDX-License-Identifier: Apache-2.0
"""Checks in a fork of the template: test plugins that judge objects.

A question is JSON: ``function``, ``object``, ``environment``. So is its answer: ``up_to_date``, or
``failed`` with a message.
"""

import json
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ansible.plugins.loader import test_loader

from ansible_operator.engine.explaining import explain
from ansible_operator.engine.forking.frames import Kind, frame
from ansible_operator.engine.forking.template import CannotStartError

Check: TypeAlias = Callable[[dict[str, Any]], object]


def find(names: Sequence[str]) -> dict[str, Check]:
    """Load test plugins of collections.

    Raises:
        CannotStartError: a name means nothing.
    """
    return {name: _find(name) for name in names}


def _find(name: str) -> Check:
    try:
        found = test_loader.get(name)
    except KeyError:
        found = None
    if found is None:
        raise CannotStartError(
            f"there is no test plugin {name}: it is searched for in the collections of "
            "ANSIBLE_COLLECTIONS_PATH"
        )
    check: Check = found.j2_function
    return check


def serve(connection: socket.socket, checks: Mapping[str, Check], body: bytes) -> None:
    """Answer one question."""
    question = json.loads(body)
    os.environ.update(question["environment"])
    answer = _answer(question["function"], checks, question["object"])
    connection.sendall(frame(Kind.RESULT, json.dumps(answer).encode()))


def _answer(name: str, checks: Mapping[str, Check], obj: dict[str, Any]) -> dict[str, Any]:
    try:
        is_up_to_date = checks[name](obj)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (the boundary of foreign code)
        return {"failed": f"the check {name} raised {explain(error)}"}
    if not isinstance(is_up_to_date, bool):
        kind = type(is_up_to_date).__name__
        return {"failed": f"the check {name} returned {kind}, not true or false"}
    return {"up_to_date": is_up_to_date}
