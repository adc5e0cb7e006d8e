# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply); documented in plugins/modules/apply.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.outcomes import Outcome, identity
from ..module_utils.clients.kubernetes.selecting import prune
from ..module_utils.clients.kubernetes.session import Session
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes
from ..plugin_utils.kubernetes.selections import KINDS, SELECTION, selections, users

Json = dict[str, Any]


class ActionModule(KubeAction):
    """Bring a list of objects to what it says, in one session."""

    SPEC: ClassVar[dict[str, Any]] = {
        "objects": {"type": "list", "elements": "dict", "default": []},
        "create_only": {"type": "list", "elements": "str", "default": []},
        "recreate": {"type": "list", "elements": "str", "default": []},
        "recreate_timeout": {"type": "int", "default": 300},
        "adopt_from": {"type": "list", "elements": "str", "default": []},
        "patches": {"type": "list", "elements": "dict", "default": []},
        "delete": {"type": "list", "elements": "dict", "default": []},
        "prune": {"type": "dict", "options": {**SELECTION, "unless_used_by": KINDS}},
        "owner": {"type": "dict"},
        "identified_by": {"type": "list", "elements": "str", "default": []},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "force": {"type": "bool", "default": True},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Apply the objects, patch, delete and prune."""
        candidates = [
            found for chosen in selections(arguments["prune"]) for found in chosen.list(session)
        ]
        writer = Writer(
            session=session,
            listed={identity(found): found for found in candidates},
            field_manager=arguments["field_manager"],
            force=arguments["force"],
            dry_run=self.dry_run,
            owner=arguments["owner"],
            identified_by=arguments["identified_by"],
        )
        changes = Changes()
        try:
            changes.add(_outcomes(writer, arguments, candidates))
        except KubeError as error:
            return changes.failed(error)
        return changes.result(diff=self._task.diff)


def _outcomes(
    writer: Writer, arguments: Mapping[str, Any], candidates: list[Json]
) -> Iterator[Outcome]:
    """Do what is asked for, one object after the other."""
    for manifest in arguments["objects"]:
        yield _applied(writer, manifest, arguments)
    for patch in arguments["patches"]:
        yield writer.patch(patch)
    for obsolete in arguments["delete"]:
        yield writer.delete(obsolete)
    if candidates:
        yield from prune(writer, candidates, arguments["objects"], users(arguments["prune"]))


def _applied(writer: Writer, manifest: Mapping[str, Any], arguments: Mapping[str, Any]) -> Outcome:
    """Bring one object to what it says, the way that is asked for."""
    name = f"{manifest.get('kind')}/{(manifest.get('metadata') or {}).get('name')}"
    if name in arguments["create_only"]:
        return writer.create_once(manifest)
    if name in arguments["recreate"]:
        return writer.recreate(manifest, arguments["recreate_timeout"])
    if arguments["adopt_from"]:
        writer.adopt(manifest, arguments["adopt_from"])
    return writer.apply(manifest)
