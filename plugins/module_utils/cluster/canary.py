# SPDX-License-Identifier: Apache-2.0
"""The canary of an upgrade: one compute node of the new version, before all others get it.

It is a CNSet of its own beside the groups, with the spec of the first one that is to be updated. It
is cordoned from its start, so that neither proxies nor other compute nodes send it anything, and it
has no address outside the cluster. The operator logs in there and runs the user's statements. Once
is not enough: a compute node that cannot read the catalog may answer until it comes to upgrade it.
So it has to answer for a minute, or with the catalog of the new version complete. All others follow
then, and the canary is deleted with what is no longer desired: it drains, because locks that it
holds, of the upgrade of the catalog for example, would stay for a minute. Until then, the compute
nodes keep the version that serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..api import names
from ..api.errors import InvalidSpec
from ..api.fields import as_table
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..backup.verification.checks import Check
from ..compute.work_states import ANNOTATION_CORDON
from ..reporting.conditions import find, holds_now
from ..reporting.reasons import ConditionType
from ..upgrade.record import CANARY_ANSWERING, CANARY_PASSED, CANARY_WAITING, Record
from ..workload.plans import Observed

ANSWER: Final = "canaryAnswer"
"""Label of what the canary said, among what was observed: ``problem``; nothing if not asked."""
_CANARY: Final = "canary"
"""Label of its CNSet, among what was observed."""
_GROUPS: Final = ("canary", *(f"c{number}" for number in range(10)))
"""Names for it, as a group of the cluster: the first that is free, and short enough."""
_DRAIN: Final = {"storeDrainEnabled": True, "storeDrainTimeout": "1m"}
"""It has no clients, and hands its locks over within seconds."""
_IN_PLACE: Final = {"maxSurge": 0, "maxUnavailable": 1}
"""Its new Pod takes the place that the one of the version before has kept for it."""
_LEFT_OUT: Final = (
    "cnLabels",
    "exportToPrometheus",
    "externalTrafficPolicy",
    "loadBalancerClass",
    "loadBalancerSourceRanges",
    "nodePort",
    "pauseUpdate",
    "podDisruptionBudget",
    "podManagementPolicy",
    "podsToDelete",
    "serviceAnnotations",
    "serviceType",
    "updateStrategy",
)
"""Of the spec of its group: what brings clients to it, or is about more than one Pod."""
_OTHERS: Final = "all other compute nodes keep the previous version"
_ANSWERING_SECONDS: Final = 60.0
"""For how long it has to answer: MatrixOne begins to upgrade its catalog within 20 seconds."""


@dataclass(frozen=True, slots=True)
class Canary:
    """What the canary came to.

    Attributes:
        applied: the only components that are changed meanwhile; None where all are.
        message: what is waited for; empty if nothing is.
        state: ``status.upgrade.canary``; empty without one.
        since: since when it is tried, RFC 3339; empty before, and when it has passed.
        answers_since: since when it answers without a failure, RFC 3339; empty if it does not.
        stuck: whether it has been tried for too long.
    """

    applied: Sequence[Manifest] | None = None
    message: str = ""
    state: str = ""
    since: str = ""
    answers_since: str = ""
    stuck: bool = False


def before_compute_nodes(
    record: Record, observed: Observed, children: Sequence[Manifest], *, waived: bool
) -> Sequence[Manifest] | None:
    """Return the components that are changed before the canary is there; None for all.

    Args:
        record: ``status.upgrade`` so far.
        observed: what the references of the cluster led to.
        children: what the cluster consists of, rendered.
        waived: whether no canary is wanted.
    """
    return _first(children) if _waiting(record, observed, children, waived=waived) else None


def try_canary(
    record: Record,
    observed: Observed,
    children: Sequence[Manifest],
    *,
    waived: bool,
    is_upgraded: bool,
    now: str,
    longest: float,
) -> Canary:
    """Decide whether compute nodes may follow the transaction node to the new version.

    Args:
        record: ``status.upgrade`` so far.
        observed: what the references of the cluster led to, with the answer of the canary.
        children: what the cluster consists of, rendered.
        waived: whether no canary is wanted.
        is_upgraded: whether the catalog is known to be that of the new version, and complete.
        now: the present, RFC 3339.
        longest: seconds after which a canary without an answer is stuck.
    """
    waiting, first = _waiting(record, observed, children, waived=waived), _first(children)
    if not waiting:
        return Canary(state=CANARY_PASSED if record.get("canary") == CANARY_PASSED else "")
    if behind := _behind(first, observed):
        return Canary(first, f"waiting for {behind} before a compute node", CANARY_WAITING)
    desired, answer = canary_of(waiting, children), observed.get(ANSWER)
    changed, what = [*first, desired], _what(desired)
    problem = _problem(desired, canary_in(observed), answer)
    since = str(record.get("canarySince") or now)
    # One that answers and fails in turn is stuck as well: its time counts from the first try.
    stuck = _age(since, now) >= longest
    if not problem and (answer or record.get("canary") == CANARY_ANSWERING):
        begun = str(record.get("canaryAnswersSince") or now)
        if answer and (is_upgraded or _age(begun, now) >= _ANSWERING_SECONDS):
            return Canary(state=CANARY_PASSED)
        lasting = f"it has to for {_ANSWERING_SECONDS:.0f} seconds"
        message = f"{what}, answers since {begun}; {lasting}; {_OTHERS}"
        return Canary(changed, message, CANARY_ANSWERING, since, begun, stuck)
    message = problem or f"waiting for an answer of {what}"
    return Canary(changed, message, CANARY_WAITING, since, stuck=stuck)


def _problem(desired: Manifest, live: Resource | None, answer: Mapping[str, Any] | None) -> str:
    """Return why the canary does not answer; empty if it does, or was not asked."""
    what = _what(desired)
    if live is None:
        return f"creating {what}"
    if not serves(live, desired):
        return f"waiting for {what}: {lacking(live)}; {_OTHERS}"
    problem = (answer or {}).get("problem")
    return f"{what}, does not answer: {problem}; {_OTHERS}" if problem else ""


def _what(desired: Manifest) -> str:
    return f"CNSet {desired['metadata']['name']}, the canary"


def _age(since: str, now: str) -> float:
    return unix_time(now) - unix_time(since)


def canary_to_ask(observed: Observed, children: Sequence[Manifest]) -> str:
    """Return the Service of the canary if it can be asked; empty if not.

    Args:
        observed: what the references of the cluster led to.
        children: what the cluster consists of, rendered.
    """
    live, changed = canary_in(observed), outdated(observed, children)
    if live is None or not changed or not serves(live, canary_of(changed, children)):
        return ""
    return names.base_name(names.CN_SET, live["metadata"]["name"])


def canary_of(groups: Sequence[Manifest], children: Sequence[Manifest]) -> Manifest:
    """Return the CNSet of the canary.

    Args:
        groups: CNSets, one at least; it is like the first.
        children: what the cluster consists of, rendered.

    Raises:
        InvalidSpec: the name of the cluster leaves no room for its own.
    """
    group = groups[0]
    metadata = group["metadata"]
    spec = {name: value for name, value in group["spec"].items() if name not in _LEFT_OUT}
    over = as_table(spec.get("overlay"))
    cordoned = {**as_table(over.get("podAnnotations")), ANNOTATION_CORDON: ""}
    labels = {**metadata["labels"], names.LABEL_CANARY: "true"}
    return {
        **group,
        "metadata": {**metadata, "name": _name(children), "labels": labels},
        "spec": {
            **spec,
            "replicas": 1,
            "scalingConfig": dict(_DRAIN),
            "updateStrategy": dict(_IN_PLACE),
            "overlay": {**over, "podAnnotations": cordoned},
        },
    }


def canary_checks(resource: Resource) -> list[Check]:
    """Return the statements of the user that the new version has to answer, by their fields."""
    settings = as_table(as_table(resource.get("spec")).get("upgrade"))
    asked = enumerate(settings.get("canaryStatements") or [])
    return [Check(f"spec.upgrade.canaryStatements[{index}]", text) for index, text in asked]


def is_canary(one: Mapping[str, Any]) -> bool:
    """Return whether a set is the canary of an upgrade."""
    return names.LABEL_CANARY in as_table(one["metadata"].get("labels"))


def canary_in(observed: Observed) -> Resource | None:
    """Return the canary among what was observed, once `apart`; None if there is none."""
    return observed.get(_CANARY)


def apart(observed: Observed) -> Observed:
    """Return what was observed of a cluster, with its canary apart from its groups."""
    found = observed.get("cnSets") or []
    canary = next(filter(is_canary, found), None)
    if canary is None:
        return observed
    groups = [one for one in found if not is_canary(one)]
    return {**observed, "cnSets": groups, _CANARY: canary}


def _name(children: Sequence[Manifest]) -> str:
    """Return the name of the canary.

    Raises:
        InvalidSpec: the name of the cluster leaves no room for one.
    """
    (cluster,) = (one["metadata"]["name"] for one in children if one["kind"] == names.LOG_SET)
    taken = {one["metadata"]["name"] for one in children if one["kind"] == names.CN_SET}
    for group in _GROUPS:
        name = names.cn_set_name(cluster, group)
        if name not in taken and _is_valid(name):
            return name
    raise InvalidSpec("metadata.name", "leaves no room for the name of the canary of an upgrade")


def _is_valid(name: str) -> bool:
    try:
        names.check_owner_name(names.CN_SET, name)
    except InvalidSpec:
        return False
    return True


def _first(children: Sequence[Manifest]) -> list[Manifest]:
    """Return what is updated before any compute node."""
    return [one for one in children if one["kind"] in (names.LOG_SET, names.DN_SET)]


def _waiting(
    record: Record, observed: Observed, children: Sequence[Manifest], *, waived: bool
) -> list[Manifest]:
    """Return the CNSets that wait for the canary; none where it has passed or is waived."""
    if waived or record.get("canary") == CANARY_PASSED:
        return []
    return outdated(observed, children)


def outdated(observed: Observed, children: Sequence[Manifest]) -> list[Manifest]:
    """Return the CNSets with Pods that do not have the image that is asked for."""
    live = {one["metadata"]["name"]: one for one in observed.get("cnSets") or []}
    return [
        one
        for one in children
        if one["kind"] == names.CN_SET
        and one["spec"].get("replicas") != 0
        and one["metadata"]["name"] in live
        and _image(live[one["metadata"]["name"]]) != _image(one)
    ]


def _behind(first: Sequence[Manifest], observed: Observed) -> str:
    """Return the first component that has to have the new version before; empty if all have."""
    for child, label in zip(first, ("logSet", "dnSet"), strict=True):
        live = as_table(observed.get(label))
        if not holds_now(live, ConditionType.SYNCED) or _image(live) != _image(child):
            return f"{child['kind']} {child['metadata']['name']}"
    return ""


def serves(live: Resource, desired: Manifest) -> bool:
    """Return whether a canary is ready with the image that it is to have."""
    ready = holds_now(live, ConditionType.READY) and holds_now(live, ConditionType.SYNCED)
    return ready and _image(live) == _image(desired)


def lacking(live: Resource) -> str:
    """Return what a canary that does not serve lacks, for people."""
    kind = ConditionType.SYNCED if holds_now(live, ConditionType.READY) else ConditionType.READY
    return str(find(live, kind).get("message") or "its status does not tell yet")


def _image(one: Mapping[str, Any]) -> Any:
    return as_table(one.get("spec")).get("image")
