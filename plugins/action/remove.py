# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.remove); documented in plugins/modules/remove.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.clients.kubernetes.editing import FIELD_MANAGER
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.outcomes import Outcome, identity
from ..module_utils.clients.kubernetes.releasing import free, release
from ..module_utils.clients.kubernetes.selecting import prune, shortened, wait_until_gone
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes.selections import SELECTION, selections
from ..module_utils.passes.status_writer import StatusWriter
from ..module_utils.reporting.report import deleting
from ..plugin_utils.kubernetes.action import KubeAction
from ..plugin_utils.kubernetes.results import Changes

Json = dict[str, Any]
_PATIENCE = 5.0
"""Seconds in which most of what is deleted is gone; only then a status names what is not."""


class ActionModule(KubeAction):
    """Delete objects, and wait until they are gone."""

    SPEC: ClassVar[dict[str, Any]] = {
        "patches": {"type": "list", "elements": "dict", "default": []},
        "release": {"type": "dict", "options": SELECTION},
        "free": {"type": "dict", "options": SELECTION},
        "objects": {"type": "list", "elements": "dict", "default": []},
        "selected": {"type": "dict", "options": SELECTION},
        "propagation": {
            "type": "str",
            "choices": ["Background", "Foreground", "Orphan"],
            "default": "Background",
        },
        "wait": {"type": "bool", "default": False},
        "wait_deleted": {"type": "bool", "default": True},
        "wait_gone": {"type": "dict", "options": SELECTION},
        "wait_timeout": {"type": "int", "default": 300},
        "fail_on_timeout": {"type": "bool", "default": True},
        "status_of": {"type": "dict"},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Change and release what stays, delete the rest, wait until it is gone."""
        candidates = [
            found for chosen in selections(arguments["selected"]) for found in chosen.list(session)
        ]
        writer = Writer(
            session=session,
            listed={identity(found): found for found in candidates},
            field_manager=arguments["field_manager"],
            dry_run=self.dry_run,
        )
        changes = Changes()
        try:
            patched = changes.add(_patched(writer, arguments))
            changes.add(release(writer, selections(arguments["release"])))
            changes.add(free(writer, selections(arguments["free"])))
            deleted = changes.add(_deleted(writer, arguments, _as_patched(candidates, patched)))
        except KubeError as error:
            return changes.failed(error)
        result = changes.result(diff=self._task.diff)
        if arguments["wait"] and not self.dry_run:
            named = _identities(deleted) if arguments["wait_deleted"] else []
            result.update(self._wait(writer, named, arguments))
        return result

    def _wait(
        self, writer: Writer, deleted: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> Json:
        """Wait until deleted objects are gone; report what is left when the time is over."""
        timeout = arguments["wait_timeout"]
        also = selections(arguments["wait_gone"])
        status_writer = StatusWriter(writer.session, arguments["status_of"], begin=_PATIENCE)
        shown = ""

        def report(left: list[Json]) -> None:
            nonlocal shown
            message = f"waiting until gone: {shortened([describe(one) for one in left])}"
            if message != shown:
                self.say(message)
                shown = message
            named = [_with_its_message(one) for one in left]
            status_writer.write(partial(deleting, left=named, seconds=timeout))

        still_there = wait_until_gone(writer, list(deleted), also, timeout, report)
        left = [describe(one) for one in still_there]
        if not left:
            return {"left": []}
        message = f"still there after {timeout} s: {shortened(left)}"
        if arguments["fail_on_timeout"]:
            return {"left": left, "failed": True, "msg": message}
        return {"left": left, "warnings": [message]}


def _patched(writer: Writer, arguments: Mapping[str, Any]) -> Iterator[Outcome]:
    """Change what the deletion depends on."""
    for patch in arguments["patches"]:
        if writer.get(patch) is not None:
            yield writer.patch(patch)


def _as_patched(candidates: Iterable[Json], patched: Iterable[Outcome]) -> list[Json]:
    """Return the candidates as they are after the patches, one of which may let an object go."""
    after = {
        identity(outcome.after): outcome.after for outcome in patched if outcome.after is not None
    }
    return [{**found, **after.get(identity(found), {})} for found in candidates]


def _deleted(
    writer: Writer, arguments: Mapping[str, Any], candidates: list[Json]
) -> Iterator[Outcome]:
    for manifest in reversed(arguments["objects"]):
        yield writer.delete(manifest, arguments["propagation"])
    yield from prune(writer, candidates, [], [], arguments["propagation"])


def _identities(deleted: Sequence[Outcome]) -> list[Mapping[str, Any]]:
    return [outcome.before for outcome in deleted if outcome.before is not None]


def _with_its_message(found: Mapping[str, Any]) -> str:
    """Name an object, with what it waits for by its own status."""
    message = (found.get("status") or {}).get("message")
    return f"{describe(found)} ({message})" if message else describe(found)
