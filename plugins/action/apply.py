# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply); documented in plugins/modules/apply.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kube.applying import FIELD_MANAGER, Change, Outcome, Writer, identity
from ..module_utils.clients.kube.differences import shown_difference, without_payload
from ..module_utils.clients.kube.selecting import Selection, prune, shortened, wait_until_gone
from ..module_utils.clients.kube.session import Session
from ..plugin_utils.kube_action import KubeAction

_KINDS = {
    "type": "list",
    "elements": "dict",
    "default": [],
    "options": {
        "api_version": {"type": "str", "required": True},
        "kind": {"type": "str", "required": True},
    },
}
_SELECTION = {
    "kinds": _KINDS,
    "namespace": {"type": "str"},
    "labels": {"type": "dict", "default": {}},
    "excluding": {"type": "dict", "default": {}},
    "owner_uid": {"type": "str", "default": ""},
}


class ActionModule(KubeAction):
    """Bring a list of objects to what it says, in one session."""

    SPEC: ClassVar[dict[str, Any]] = {
        "objects": {"type": "list", "elements": "dict", "default": []},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "create_only": {"type": "list", "elements": "str", "default": []},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "force": {"type": "bool", "default": True},
        "owner": {"type": "dict"},
        "patches": {"type": "list", "elements": "dict", "default": []},
        "prune": {"type": "dict", "options": {**_SELECTION, "unless_used_by": _KINDS}},
        "propagation": {
            "type": "str",
            "choices": ["Background", "Foreground", "Orphan"],
            "default": "Background",
        },
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
        "wait_gone": {"type": "dict", "options": _SELECTION},
        "fail_on_timeout": {"type": "bool", "default": True},
    }

    def act(self, session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
        """Apply or delete the objects, prune, and wait for what is going away."""
        candidates = [
            found for chosen in _selections(arguments["prune"]) for found in chosen.list(session)
        ]
        writer = Writer(
            session=session,
            listed={identity(found): found for found in candidates},
            field_manager=arguments["field_manager"],
            force=arguments["force"],
            dry_run=self.dry_run,
            owner=arguments["owner"],
        )
        if arguments["state"] == "absent":
            doomed = list(reversed(arguments["objects"]))
            outcomes = [writer.delete(one, arguments["propagation"]) for one in doomed]
        else:
            doomed = []
            outcomes = _applied(writer, arguments["objects"], set(arguments["create_only"]))
            outcomes += [writer.patch(one) for one in arguments["patches"]]
        wanted = [] if arguments["state"] == "absent" else arguments["objects"]
        pruned = _pruned(writer, arguments, wanted, candidates)
        result = _summary([*outcomes, *pruned])
        if self._task.diff:
            result["diff"] = _differences([*outcomes, *pruned])
        if arguments["wait"] and not self.dry_run:
            going = doomed + [one.before for one in pruned if one.before is not None]
            result.update(self._waited(writer, going, arguments))
        return result

    def _waited(
        self, writer: Writer, going: list[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Wait until deleted objects are gone; say what is left when the time is over."""
        timeout = arguments["wait_timeout"]
        also = _selections(arguments["wait_gone"])
        left = wait_until_gone(writer, going, also, timeout, self.say)
        if not left:
            return {"left": []}
        message = f"still there after {timeout} s: {shortened(left)}"
        if arguments["fail_on_timeout"]:
            return {"left": left, "failed": True, "msg": message}
        return {"left": left, "warnings": [message]}


def _applied(writer: Writer, objects: Iterable[Mapping[str, Any]], once: set[str]) -> list[Outcome]:
    outcomes = []
    for manifest in objects:
        name = f"{manifest.get('kind')}/{(manifest.get('metadata') or {}).get('name')}"
        outcomes.append(writer.create_once(manifest) if name in once else writer.apply(manifest))
    return outcomes


def _pruned(
    writer: Writer,
    arguments: Mapping[str, Any],
    wanted: list[Mapping[str, Any]],
    candidates: list[dict[str, Any]],
) -> list[Outcome]:
    chosen = arguments["prune"]
    if not candidates:
        return []
    users = _selections({**chosen, "kinds": chosen["unless_used_by"], "owner_uid": ""})
    return prune(writer, candidates, wanted, users, arguments["propagation"])


def _selections(chosen: Mapping[str, Any] | None) -> list[Selection]:
    if not chosen:
        return []
    return [
        Selection(
            api_version=kind["api_version"],
            kind=kind["kind"],
            namespace=chosen["namespace"],
            labels=chosen["labels"],
            excluding=chosen["excluding"],
            owner_uid=chosen["owner_uid"],
        )
        for kind in chosen["kinds"]
    ]


def _summary(outcomes: list[Outcome]) -> dict[str, Any]:
    """Build the result: what changed, the objects as they are now, and the differences."""
    changed = [one for one in outcomes if one.change is not Change.UNCHANGED]
    return {
        "changed": bool(changed),
        "changes": [f"{one.title} {one.change.value}" for one in changed],
        "objects": {
            f"{one.after['kind']}/{one.after['metadata']['name']}": without_payload(one.after)
            for one in outcomes
            if one.after is not None
        },
        "before": {
            f"{one.after['kind']}/{one.after['metadata']['name']}": without_payload(one.before)
            for one in changed
            if one.after is not None and one.before is not None
        },
    }


def _differences(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [
        shown_difference(one.title, one.before, one.after)
        for one in outcomes
        if one.change is not Change.UNCHANGED
    ]
