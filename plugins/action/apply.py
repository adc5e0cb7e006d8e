# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.apply); documented in plugins/modules/apply.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import (
    FIELD_MANAGER,
    Change,
    Outcome,
    Writer,
    identity,
)
from ..module_utils.clients.kubernetes.differences import shown_difference, without_payload
from ..module_utils.clients.kubernetes.errors import KubeError
from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.releasing import release
from ..module_utils.clients.kubernetes.selecting import Selection, prune, shortened, wait_until_gone
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.reporting.report import deleting
from ..plugin_utils import telling
from ..plugin_utils.kube_action import KubeAction, failed

_PATIENCE = 5.0
"""Seconds in which most of what is deleted is gone; only then its status says what is not."""
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
        "recreate": {"type": "list", "elements": "str", "default": []},
        "adopt_from": {"type": "list", "elements": "str", "default": []},
        "remove": {"type": "list", "elements": "dict", "default": []},
        "field_manager": {"type": "str", "default": FIELD_MANAGER},
        "force": {"type": "bool", "default": True},
        "owner": {"type": "dict"},
        "patches": {"type": "list", "elements": "dict", "default": []},
        "release": {"type": "dict", "options": _SELECTION},
        "prune": {"type": "dict", "options": {**_SELECTION, "unless_used_by": _KINDS}},
        "propagation": {
            "type": "str",
            "choices": ["Background", "Foreground", "Orphan"],
            "default": "Background",
        },
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
        "wait_deleted": {"type": "bool", "default": True},
        "wait_gone": {"type": "dict", "options": _SELECTION},
        "fail_on_timeout": {"type": "bool", "default": True},
        "tell": {"type": "dict"},
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
        released: list[Outcome] = []
        outcomes: list[Outcome] = []
        try:
            for outcome in _released(writer, arguments):
                released.append(outcome)  # noqa: PERF402 - what was done before an error counts
            for outcome in _outcomes(writer, arguments, candidates):
                outcomes.append(outcome)  # noqa: PERF402 - as above
        except KubeError as error:
            return {**_summary([*released, *outcomes]), **failed(error)}
        result = _summary([*released, *outcomes])
        if self._task.diff:
            result["diff"] = _differences([*released, *outcomes])
        if arguments["wait"] and not self.dry_run:
            going = _going(arguments, outcomes) if arguments["wait_deleted"] else []
            result.update(self._waited(writer, going, arguments))
        return result

    def _waited(
        self, writer: Writer, going: list[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Wait until deleted objects are gone; say what is left when the time is over."""
        timeout = arguments["wait_timeout"]
        also = _selections(arguments["wait_gone"])
        teller = telling.Teller(writer.session, arguments["tell"], begin=_PATIENCE)
        said = ""

        def report(awaited: list[dict[str, Any]]) -> None:
            nonlocal said
            message = f"waiting until gone: {shortened([describe(one) for one in awaited])}"
            if message != said:
                self.say(message)
                said = message
            known = [_with_its_message(one) for one in awaited]
            teller.tell(partial(deleting, left=known, seconds=timeout))

        left = [describe(one) for one in wait_until_gone(writer, going, also, timeout, report)]
        if not left:
            return {"left": []}
        message = f"still there after {timeout} s: {shortened(left)}"
        if arguments["fail_on_timeout"]:
            return {"left": left, "failed": True, "msg": message}
        return {"left": left, "warnings": [message]}


def _with_its_message(found: Mapping[str, Any]) -> str:
    """Name an object, with what its own status says that it waits for."""
    said = (found.get("status") or {}).get("message")
    return f"{describe(found)} ({said})" if said else describe(found)


def _going(arguments: Mapping[str, Any], outcomes: list[Outcome]) -> list[Mapping[str, Any]]:
    """Return what is asked to be gone in the end, by identity."""
    objects = list(reversed(arguments["objects"]))
    if arguments["state"] == "absent":
        rest = outcomes[len(objects) :]
    else:
        rest = outcomes[len(objects) + len(arguments["patches"]) :]
        objects = []
    return objects + [one.before for one in rest if one.before is not None]


def _released(writer: Writer, arguments: Mapping[str, Any]) -> Iterator[Outcome]:
    """Do what comes before any deletion: tell others what stays, and let go of it."""
    if arguments["state"] == "absent":
        for patch in arguments["patches"]:
            if writer.get(patch) is not None:
                yield writer.patch(patch)
    yield from release(writer, _selections(arguments["release"]))


def _outcomes(
    writer: Writer, arguments: Mapping[str, Any], candidates: list[dict[str, Any]]
) -> Iterator[Outcome]:
    """Do what is asked for, one object after the other."""
    if arguments["state"] == "absent":
        for doomed in reversed(arguments["objects"]):
            yield writer.delete(doomed, arguments["propagation"])
        yield from _pruned(writer, arguments, [], candidates)
        return
    for manifest in arguments["objects"]:
        yield _brought(writer, manifest, arguments)
    for patch in arguments["patches"]:
        yield writer.patch(patch)
    for doomed in arguments["remove"]:
        yield writer.delete(doomed, arguments["propagation"])
    yield from _pruned(writer, arguments, arguments["objects"], candidates)


def _brought(writer: Writer, manifest: Mapping[str, Any], arguments: Mapping[str, Any]) -> Outcome:
    """Bring one object to what it says, the way that is asked for."""
    name = f"{manifest.get('kind')}/{(manifest.get('metadata') or {}).get('name')}"
    if name in arguments["create_only"]:
        return writer.create_once(manifest)
    if name in arguments["recreate"]:
        return writer.recreate(manifest, arguments["wait_timeout"])
    if arguments["adopt_from"]:
        writer.adopt(manifest, arguments["adopt_from"])
    return writer.apply(manifest)


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
        "done": [_named(one) for one in changed],
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


def _named(outcome: Outcome) -> dict[str, str]:
    about = outcome.after or outcome.before or {}
    name = str(about["metadata"]["name"])
    return {"kind": str(about["kind"]), "name": name, "change": outcome.change.value}


def _differences(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    return [
        shown_difference(one.title, one.before, one.after)
        for one in outcomes
        if one.change is not Change.UNCHANGED
    ]
