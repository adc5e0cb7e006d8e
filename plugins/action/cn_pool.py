# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.cn_pool); documented in plugins/modules/cn_pool.py."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, ClassVar, Final

from ..module_utils.clients.kubernetes.kinds import describe
from ..module_utils.clients.kubernetes.session import Session
from ..module_utils.passes import status_writer
from ..module_utils.pool.facts import Phase
from ..module_utils.pool.pool_events import occurrences
from ..module_utils.pool.pool_status import served
from ..module_utils.pool.reconciler import PassResult, run_pass
from ..module_utils.reporting.report import deleting
from ..module_utils.workload.plans import is_paused
from ..plugin_utils.kubernetes.action import KubeAction

Json = dict[str, Any]

_PAUSE: Final = 2.0  # seconds
_SLACK: Final = 120.0  # seconds
_AGAIN_SECONDS: Final = 1.0
_STUCK_SECONDS: Final = 5.0


class ActionModule(KubeAction):
    """Serve the claims of a pool, and create, drain and delete its Pods."""

    SPEC: ClassVar[dict[str, Any]] = {
        "resource": {"type": "dict", "required": True},
        "generation": {"type": "str", "default": ""},
        "timeout": {"type": "float", "default": 60.0},
        "await_end": {"type": "bool", "default": False},
    }

    def act(self, session: Session, arguments: Json) -> Json:
        """Run one pass, or passes until nothing is left of a pool that is being deleted."""
        if self.dry_run or is_paused(arguments["resource"]):
            return {"changed": False, "pool": {}}
        if arguments["await_end"]:
            return self._ended(session, arguments)
        done = _passed(session, arguments)
        return {"changed": bool(done.written.done), "pool": result_of(done)}

    def _ended(self, session: Session, arguments: Json) -> Json:
        """Run passes until the last Pod is gone; drains are bounded, so this is, too."""
        resource = arguments["resource"]
        status = status_writer.StatusWriter(session, resource)
        started, changed = time.monotonic(), False
        while True:
            done = _passed(session, arguments, fresh=True)
            changed = changed or bool(done.written.done)
            result: Json = {"changed": changed, "pool": result_of(done)}
            if done.plan.finished:
                return result
            left = _left(done)
            limit = done.snapshot.pool.drain.patience + _SLACK
            if time.monotonic() - started > limit:
                names = ", ".join(left[:4])
                message = f"{describe(resource)}: still there after {limit:.0f} s: {names}"
                return {**result, "failed": True, "msg": message}
            status.write(partial(deleting, left=left))
            time.sleep(_PAUSE)


def _passed(session: Session, arguments: Json, *, fresh: bool = False) -> PassResult:
    generation, seconds = arguments["generation"], arguments["timeout"]
    return run_pass(session, arguments["resource"], generation, seconds, fresh=fresh)


def _left(done: PassResult) -> list[str]:
    pool = done.snapshot.pool.name
    return [
        f"Pod/{pod.name}{' (drains)' if pod.phase is Phase.DRAINING else ''}"
        for pod in done.snapshot.pods.values()
        if pod.pool == pool
    ]


def result_of(done: PassResult) -> Json:
    """Return how a pass ended, as a task's result has it."""
    waits = [_AGAIN_SECONDS] if done.unfinished else []
    waits += [_STUCK_SECONDS] if done.stuck or done.written.problems else []
    waits += [] if done.plan.requeue is None else [done.plan.requeue]
    return {
        **served(done.snapshot, done.plan),
        "limited": done.plan.limited,
        "problem": done.problem,
        "errors": done.written.problems[:10],
        "requeue": min(waits, default=None),
        "missing": done.missing,
        "rounds": done.rounds,
        "done": done.written.done,
        "dropped": done.written.dropped,
        "missed": done.written.measures.missed,
        "waits": [round(wait, 3) for wait in done.written.measures.waits],
        "events": occurrences(done.written.notes),
        "finished": done.plan.finished,
    }
