# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.connection_secrets)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.cluster.connection import Connection, recorded
from ..module_utils.cluster.connection_writer import Written, write
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Write the Secrets that tell applications how to connect."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "connection": {"type": "dict", "required": True},
        "required": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Write what is desired and give up what is obsolete; return names, never contents."""
        resource = arguments["resource"]
        writer = Writer(session, dry_run=self.dry_run, owner=resource)
        decided = Connection.read(arguments["connection"])
        written = list(write(writer, resource, decided))
        changes = Changes()
        changes.add(one.outcome for one in written if one.outcome is not None)
        problem = next((one.problem for one in written if self._counts(one)), "")
        secrets = sorted(_existing(written, recorded(resource)))
        result = changes.result(diff=self._task.diff)
        result["connection"] = {"secrets": secrets, "problem": problem}
        if problem and arguments["required"]:
            return {**result, "failed": True, "msg": problem}
        return result

    def _counts(self, written: Written) -> bool:
        """Tell whether a Secret is not as it should be.

        In check mode, what it is made of may only come to be in the run itself.
        """
        return bool(written.problem) and not (self.dry_run and written.exists is None)


def _existing(written: Iterable[Written], known: Iterable[str]) -> set[str]:
    """Return the names of the Secrets that exist now and are ours.

    Args:
        written: what became of each.
        known: those that were on record before.
    """
    there = {one.name for one in written if one.exists}
    gone = {one.name for one in written if one.exists is False}
    return (set(known) | there) - gone
