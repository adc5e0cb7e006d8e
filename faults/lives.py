# SPDX-License-Identifier: Apache-2.0
"""What happens to a resource of each kind from creation to end, undisturbed and disturbed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from faults import checks
from faults.points import Fault
from faults.scenes import NAMESPACE, scenes, subject
from faults.simulation.objects import merge_patched
from faults.simulation.world import Unsettled, World

Json = dict[str, Any]
CREATE, DELETE = "create", "delete"
_NEW_IMAGE = {"spec": {"image": "matrixorigin/matrixone:2.0.2"}}
_LAST_THREE: Json = {"keepDaily": None, "keepLast": 3}
_CHANGES: Mapping[str, Mapping[str, Json]] = {
    "LogSet": {
        "roll": _NEW_IMAGE,
        "out": {"spec": {"replicas": 5}},
        "in": {"spec": {"replicas": 3}},
        "grow": {"spec": {"volume": {"size": "20Gi"}}},
        "keep": {"spec": {"pvcRetentionPolicy": "Retain"}},
    },
    "DNSet": {"roll": _NEW_IMAGE, "volume": {"spec": {"cacheVolume": {"size": "20Gi"}}}},
    "CNSet": {
        "roll": _NEW_IMAGE,
        "out": {"spec": {"replicas": 4}},
        "in": {"spec": {"replicas": 1}},
        "config": {"spec": {"config": '[log]\nlevel = "debug"\n'}},
    },
    "ProxySet": {"roll": _NEW_IMAGE, "out": {"spec": {"replicas": 3}}},
    "WebUI": {"roll": {"spec": {"image": "dash:0.2.0"}}, "out": {"spec": {"replicas": 2}}},
    "MatrixOneCluster": {
        "roll": {"spec": {"version": "2.0.2"}},
        "group": {
            "spec": {
                "cnGroups": [
                    {"name": "tp", "replicas": 3, "cacheVolume": {"size": "10Gi"}},
                    {"name": "ap", "replicas": 1},
                ]
            }
        },
        "less": {
            "spec": {
                "cnGroups": [{"name": "tp", "replicas": 1, "cacheVolume": {"size": "10Gi"}}],
                "webui": None,
            }
        },
    },
    "MatrixoneCluster": {
        "roll": {"spec": {"image": "matrixorigin/matrixone:1.3.1"}},
        "grow": {"spec": {"dataVolumeCap": "20Gi"}},
    },
    "BackupSchedule": {"forgotten": {}, "less": {"spec": {"retention": _LAST_THREE}}},
    "Backup": {"delete-data": {"deletionPolicy": "Delete"}},
    "CNPool": {
        "more": {"spec": {"strategy": {"scaleStrategy": {"maxIdle": 4, "schedule": []}}}},
        "roll": {"spec": {"template": {"image": "matrixorigin/matrixone:2.0.2"}}},
    },
    "CNClaimSet": {"out": {"spec": {"replicas": 4}}, "in": {"spec": {"replicas": 1}}},
    "Database": {"drop": {"spec": {"deletionPolicy": "Delete"}}},
    "DatabaseUser": {"drop": {"spec": {"deletionPolicy": "Delete"}}},
    "BucketClaim": {"delete-data": {"spec": {"s3": {"s3RetentionPolicy": "Delete"}}}},
}
_COUNTED = frozenset(
    {
        "statefulsets", "deployments", "persistentvolumeclaims", "jobs", "backups", "backupjobs",
        "restorejobs", "cnclaims", "logsets", "dnsets", "cnsets", "proxysets", "webuis", "secrets",
        "services", "bucketclaims",
    }
)  # fmt: skip
"""What must not be created or removed more often than undisturbed: each is work, or data."""


@dataclass(frozen=True)
class Outcome:
    """What a step of a life came to.

    Attributes:
        state: of all objects.
        created: how many objects of each kind were created so far.
        removed: how many went.
        writes: that the operator made in this step.
        requests: that it made in this step.
    """

    state: dict[str, Json]
    created: Counter[str]
    removed: Counter[str]
    writes: int = 0


def steps_of(kind: str) -> list[str]:
    """Return the names of the steps of a life."""
    return [CREATE, *_CHANGES.get(kind, {}), DELETE]


def after_step(kind: str, step: str) -> Json | None:
    """Return the resource as users write it in a step; None where they delete it."""
    found = subject(kind)
    if step == DELETE:
        return None
    for name, change in _CHANGES.get(kind, {}).items():
        if step == CREATE:
            break
        found = merge_patched(found, change)
        if name == step:
            break
    return found


def take(world: World, kind: str, step: str) -> None:
    """Do what users do in a step."""
    if step == "forgotten":
        _forget_backups(world)
        return
    resource = after_step(kind, step)
    if resource is not None:
        world.apply(resource)
        return
    name = subject(kind)["metadata"]["name"]
    namespace = "" if kind == "Backup" else NAMESPACE
    world.delete(kind, namespace, name)


def _forget_backups(world: World) -> None:
    """Do what `kubectl get -o yaml | kubectl apply` and restore tools do: statuses do not come."""
    world.noted = [key[3] for key, _found in world.server.of_kind("Backup")]
    newest = max(
        world.server.of_kind("Backup"), key=lambda pair: str(pair[1]["meta"]["completeTime"])
    )
    for key, found in world.server.of_kind("Backup"):
        if key != newest[0]:
            world.server.change(key, {name: one for name, one in found.items() if name != "status"})
    world.round(["BackupSchedule"])


def settle(world: World, step: str) -> None:
    """Let the operator do what it does.

    Raises:
        Fault: it does not become quiet.
    """
    try:
        world.settle()
    except Unsettled as error:
        raise Fault(f"{step}: {error}") from error


_VOLUMES_GO = frozenset({"in", "less", DELETE})
"""Steps in which a user asks for fewer volumes."""


def promised(world: World, kind: str, step: str) -> None:
    """Require what must hold after a step, whatever an undisturbed life comes to.

    Raises:
        Fault: it does not.
    """
    removed = [key[3] for key in world.server.removed if key[1] == "persistentvolumeclaims"]
    steps = steps_of(kind)
    asked = set(steps[: steps.index(step) + 1]) & _VOLUMES_GO
    if removed and not asked:
        raise Fault(f"{step}: volumes are gone that nobody gave up: {removed}")
    keeps = (after_step(kind, steps[-2]) or {}).get("spec", {}).get("pvcRetentionPolicy")
    if step == DELETE and keeps == "Retain":
        left = [key for key, _claim in world.server.of_kind("PersistentVolumeClaim")]
        if not left:
            raise Fault("the volumes of a set that keeps them are gone with it")
    if step == "forgotten":
        gone = [name for name in world.noted if world.get("Backup", name) is None]
        if gone:
            raise Fault(f"Backups without a status were removed: {gone}")


def outcome(world: World, writes: int = 0) -> Outcome:
    """Return what came of all steps so far."""
    return Outcome(
        checks.state(world), _counted(world.server.created), _counted(world.server.removed), writes
    )


def _counted(keys: list[tuple[str, str, str, str]]) -> Counter[str]:
    return Counter(key[1] for key in keys if key[1] in _COUNTED)


@cache
def undisturbed(kind: str) -> Mapping[str, Outcome]:
    """Return what each step of a life comes to when nothing goes wrong."""
    world = scenes()[kind].world()
    world.settle()
    found = {}
    for step in steps_of(kind):
        before = len(world.session.writes)
        take(world, kind, step)
        settle(world, step)
        promised(world, kind, step)
        found[step] = outcome(world, len(world.session.writes) - before)
    return found


MOST_WRITES = 90
"""More than an operator makes in any step; see `write_of`."""


def write_of(kind: str, step: str, number: int) -> int:
    """Return which write of a step a number means: they are counted round and round.

    So the names of points are known without living every life first.
    """
    return (number - 1) % max(undisturbed(kind)[step].writes, 1) + 1


_LOOKS_AGAIN = frozenset({"Backup", "BackupSchedule"})
"""Kinds with Jobs that only read: what one has seen and nobody has recorded is looked for again."""


def disturbed(
    kind: str,
    step: str,
    disturb: Callable[[World], None],
    tolerated: Collection[str] = (),
) -> None:
    """Live a life with a disturbance in one step, and compare it with the undisturbed one.

    Args:
        kind: of the resource.
        step: in which it is disturbed.
        disturb: lets the operator do what it does, as far as it comes; what is left is done after.
        tolerated: kinds of objects that may be created once more.

    Raises:
        Fault: the end is another one, or something was made twice or lost.
    """
    world = scenes()[kind].world()
    world.settle()
    steps = steps_of(kind)
    for name in steps[: steps.index(step) + 2]:
        take(world, kind, name)
        if name == step:
            disturb(world)
        settle(world, name)
        again = ("jobs",) if kind in _LOOKS_AGAIN else ()
        compare(kind, name, world, (*tolerated, *again))


def compare(
    kind: str,
    step: str,
    world: World,
    tolerated: Collection[str] = (),
    expected: Outcome | None = None,
) -> None:
    """Compare what a step came to with the undisturbed life.

    Args:
        kind: of the resource.
        step: after which it is compared.
        world: in which it was lived.
        tolerated: kinds of objects that may be created, and go, once more.
        expected: in place of what the undisturbed life came to.

    Raises:
        Fault: it differs.
    """
    promised(world, kind, step)
    expected, found = expected or undisturbed(kind)[step], outcome(world)
    checks.require_same(expected.state, found.state, f"after {step} it is not as undisturbed")
    for what, wanted, have in (
        ("created", expected.created, found.created),
        ("removed", expected.removed, found.removed),
    ):
        more, less = have - wanted, wanted - have
        if less or set(more) - set(tolerated):
            raise Fault(f"after {step}: {what} too many {dict(more)}, too few {dict(less)}")
    if world.failures:
        raise Fault(f"after {step} a pass fails for ever: {next(iter(world.failures.values()))}")
