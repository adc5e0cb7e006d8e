# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests that the operator asks between plays: is there anything to do, is all as reported."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError

from ..module_utils.api.plain import plain
from ..module_utils.clients.kubernetes.connection import resolve_options
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.session import Session, brief_session
from ..module_utils.pool.serving import is_served
from ..module_utils.precheck.health_check import is_as_reported
from ..module_utils.precheck.up_to_date import is_up_to_date

_ROLES = Path(__file__).parents[2] / "roles"


def up_to_date(resource: Any) -> bool:
    """Tell whether a pass over a resource would change nothing; see module_utils/precheck."""

    def ask(session: Session, known: Mapping[str, Any]) -> bool:
        return is_up_to_date(session, known, _start_script(known["kind"]))

    return _answer("up_to_date", ask, resource)


def as_reported(resource: Any) -> bool:
    """Tell whether a set that is reported to serve gives signs of life."""
    return _answer("as_reported", is_as_reported, resource)


def served(resource: Any) -> bool:
    """Tell whether a CNPool serves a claim, and so reports on it."""
    return _answer("served", is_served, resource)


def _answer(name: str, ask: Callable[[Session, Mapping[str, Any]], bool], resource: Any) -> bool:
    known: Mapping[str, Any] = plain(resource)
    try:
        # A warm process is asked about many resources, each time with other credentials.
        with brief_session(resolve_options({}, os.environ)) as session:
            return ask(session, known)
    except KubeError as error:
        raise AnsibleError(f"{name}: {error}") from error


def _start_script(kind: str) -> str:
    """Return the text that the role of a kind starts its containers with."""
    script = _ROLES / kind.lower() / "files" / "start.sh"
    return script.read_text() if script.exists() else ""


class TestModule:
    """Registers the tests."""

    def tests(self) -> dict[str, Callable[..., bool]]:
        """Return the tests by name."""
        return {"up_to_date": up_to_date, "as_reported": as_reported, "served": served}
