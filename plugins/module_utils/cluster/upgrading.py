# SPDX-License-Identifier: Apache-2.0
"""The upgrade of a cluster to a newer minor or major release of MatrixOne, as an operation.

``status.upgrade`` is the record of it. It is held back until each check passes, or is waived; then
the components are changed in order: first the log stores alone, so that a pause leaves all others
as they are. From the DNSet on, nothing stops it: a transaction node that fails would be recreated
with the new version. That it has begun is known from the record, and from the DNSet alone, if the
record was lost. From the first start of a newer transaction node on there is no way back. One
compute node of the new version has to answer for a while then, before all others get it, and the
upgrade of the catalog is followed to its end. A change within a minor release is none of this, and
of versions that cannot be read nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ..admission.shapes import FORBIDDEN, Mistake
from ..api import names, toml, versions
from ..api.durations import seconds
from ..api.errors import RenderingError
from ..api.fields import Fields, as_table
from ..api.timestamps import unix_time
from ..api.types import Manifest, Resource
from ..api.versions import Version
from ..backup.sources import source_ref
from ..reporting.conditions import holds_now
from ..reporting.reasons import ConditionType
from ..transaction.data_version import asked_version, written_by
from ..upgrade.catalog import Catalog
from ..upgrade.checks import Check, Name, Subject, checks_of, is_waived, may_upgrade_catalog
from ..upgrade.record import (
    AHEAD,
    CANCELED,
    CATALOG,
    COMPLETED,
    HELD,
    PASSED,
    UNFINISHED,
    UPDATING,
    Record,
    way_back,
)
from ..workload.component import Reference
from ..workload.gates import only_scaled
from ..workload.plans import Observed, is_paused, named
from .canary import apart, before_compute_nodes, canary_to_ask, outdated, try_canary
from .conditions import count
from .data_version import asked_by, naming_field, with_data_version
from .entrances import entrance
from .maintenance import Maintenance
from .rehearsing import missing_rehearsal, rehearsal_references, under_way
from .rendering import render_matrixonecluster
from .room import Room, find_room

Json = dict[str, Any]
CATALOG_KEY: Final = "catalog"
"""Label of what the database said of its catalog, among what was observed."""
_BACKUPS: Final = "backups"
_SETTLING: Final = 60.0
"""Seconds in which a new version adds its row to the catalog; it does so within ten."""
_CATALOG_SECONDS: Final = 15 * 60


@dataclass(frozen=True, slots=True)
class Upgrade:
    """Where the upgrade of a cluster is.

    Attributes:
        record: ``status.upgrade`` as it is to be; empty when there never was one.
        applied: the only components that are changed, the others are left as they are; None where
            all are.
        rehearsal: RestoreJob to create; None for none.
        problem: why the database gives no answer; empty if it does, or was not asked.
        stuck: whether the catalog has not moved for too long.
    """

    record: Record
    applied: Sequence[Manifest] | None = None
    rehearsal: Manifest | None = None
    problem: str = ""
    stuck: bool = False


def recorded(resource: Resource, observed: Observed) -> Record:
    """Return ``status.upgrade`` as it was observed, or else as the pass was given it."""
    live = as_table(observed.get("self"))
    uid = as_table(live.get("metadata")).get("uid")
    is_same = bool(uid) and uid == resource["metadata"].get("uid")
    status = live.get("status") if is_same else resource.get("status")
    return as_table(as_table(status).get("upgrade"))


def with_upgrade(resource: Resource, observed: Observed) -> Resource:
    """Return a cluster whose status has the newest record of its upgrade."""
    record = recorded(resource, observed)
    status = as_table(resource.get("status"))
    return {**resource, "status": {**status, "upgrade": record}} if record else resource


def upgrade_references(resource: Resource) -> dict[str, Reference]:
    """Return what to observe while a cluster waits for its upgrade; nothing otherwise.

    The status may be older than the Pods, so that an upgrade that has begun is still observed.
    """
    target, written = _versions(resource)
    if target is None or written is None or target.release <= written.release:
        return {}
    every = {"api_version": names.API_VERSION, "kind": names.BACKUP, "labels": {}}
    found = {_BACKUPS: {**every, "if_allowed": True}}
    return {**found, **rehearsal_references(resource)} if target.major > written.major else found


@dataclass(frozen=True, slots=True)
class Questions:
    """Whom a pass asks during an upgrade.

    Attributes:
        catalog: Service through which it asks for the catalog; empty if it does not.
        canary: Service of the canary; empty while there is none that can be asked.
    """

    catalog: str = ""
    canary: str = ""


def questions(resource: Resource, observed: Observed) -> Questions:
    """Return whom a pass asks.

    Args:
        resource: the cluster.
        observed: what its references led to.
    """
    if is_paused(resource) or not _asks_catalog(resource, observed):
        return Questions()
    seen = apart(observed)
    if not any(count(one)[1] for one in seen.get("cnSets") or []):
        return Questions()
    try:
        children = render_matrixonecluster(resource)
        live = {named(one) for one in live_components(seen)}
        catalog = entrance([one for one in children if named(one) in live])
        return Questions(catalog, canary_to_ask(seen, children))
    except RenderingError:
        return Questions()


def _asks_catalog(resource: Resource, observed: Observed) -> bool:
    present = with_data_version(resource, observed)
    target, written = _versions(present)
    if target is None or written is None:
        return False
    if target.release > written.release:
        return not _has_begun(recorded(present, observed), observed, target)
    return _is_past(recorded(present, observed), target, written)


def decide(
    present: Resource, observed: Observed, children: Sequence[Manifest], windows: Maintenance
) -> Upgrade:
    """Decide whether components may be changed, and what is on record of the upgrade.

    Args:
        present: the cluster, with what is known of its data at present in its status.
        observed: what its references led to, with the answer of the database.
        children: what it consists of, rendered.
        windows: whether it may begin, and the moment of that.
    """
    now = windows.at
    before = recorded(present, observed)
    target, written = _versions(present)
    if target is None or written is None or not now:
        return Upgrade(before)
    if target.release > written.release:
        if not _has_begun(before, observed, target):
            return _examined(present, observed, children, (written, target), windows)
        return _advanced(present, observed, children, _begun(before, written, target, now))
    before = before or _found_again(observed, children, written, target, now)
    if _is_past(before, target, written):
        return _followed(present, observed, children, {**before, "to": str(target)}, now)
    if before.get("phase") in {HELD, *UNFINISHED}:
        return Upgrade(_canceled(before))
    return Upgrade(before)


def unfinished_mistakes(resource: Resource, dn_set: Manifest) -> Iterator[Mistake]:
    """Yield what is wrong with a raise to a further release before the last upgrade has ended.

    Args:
        resource: the cluster, with its status.
        dn_set: that it is rendered to.
    """
    record, target = recorded(resource, {}), asked_version(dn_set["spec"])
    to = versions.parse(str(record.get("to") or ""))
    if record.get("phase") not in UNFINISHED or target is None or to is None:
        return
    settings = as_table(resource["spec"].get("upgrade"))
    if target.release <= to.release or is_waived(Name.PREVIOUS_UPGRADE, settings, target):
        return
    ahead = record.get("pointOfNoReturn") == AHEAD
    advice = (
        f"set {record.get('from')} again to cancel that one"
        if ahead
        else "wait until status.upgrade.phase is Completed"
    )
    message = f"the upgrade from {record.get('from')} to {to} has not completed; {advice}"
    yield Mistake(naming_field(resource["spec"]), message, FORBIDDEN, value=str(target))


def scaled(children: Iterable[Manifest], observed: Observed) -> list[Manifest]:
    """Return the patches that scale the components of a cluster whose change is held back."""
    live = {named(one): one for one in live_components(observed)}
    found = (only_scaled(one) for one in children if named(one) in live)
    return [
        one
        for one in found
        if one and one["spec"]["replicas"] != as_table(live[named(one)]["spec"]).get("replicas")
    ]


def _versions(present: Resource) -> tuple[Version | None, Version | None]:
    """Return the version that is asked for, and the one that has written the data."""
    status = as_table(present.get("status"))
    return asked_by(present), written_by(present, status.get("tn"))


def _has_begun(before: Record, observed: Observed, target: Version) -> bool:
    """Return whether the components are being changed, by the record or by the DNSet itself."""
    to = versions.parse(str(before.get("to") or ""))
    if before.get("phase") == UPDATING and to and to.release == target.release:
        return True
    dn_set = as_table(observed.get("dnSet"))
    live = asked_version(as_table(dn_set.get("spec"))) if dn_set else None
    return live is not None and live.release == target.release


def _found_again(
    observed: Observed, children: Sequence[Manifest], written: Version, target: Version, now: str
) -> Json:
    """Return the record of an upgrade whose record was lost; empty if none is seen to go on.

    It is, if compute nodes are still of an earlier release than the data. They must not follow
    without a canary.
    """
    changed = {one["metadata"]["name"] for one in outdated(observed, children)}
    versions_left = [
        asked_version(as_table(one.get("spec")))
        for one in observed.get("cnSets") or []
        if one["metadata"]["name"] in changed
    ]
    earlier = [one for one in versions_left if one is not None and one.release < target.release]
    if not earlier or written.release != target.release:
        return {}
    record = {"from": str(min(earlier, key=lambda one: one.numbers)), "to": str(target)}
    return {**record, "startedAt": now, "phase": UPDATING, "pointOfNoReturn": PASSED}


def _is_past(before: Record, target: Version, written: Version) -> bool:
    """Return whether an upgrade is past the point of no return, and has not completed."""
    to = versions.parse(str(before.get("to") or ""))
    is_this = to is not None and to.release == target.release == written.release
    return is_this and before.get("phase") in UNFINISHED


def _begun(before: Record, written: Version, target: Version, now: str) -> Json:
    """Return the record while the log stores are updated, before the transaction node is."""
    path = f"from {written} to {target}"
    message = (
        f"updating {path}; the first start of the new transaction node is the point of no return, "
        f"set {written} again to cancel before"
    )
    kept = {
        name: before[name] for name in ("checks", "backup", "runs", "startedAt") if name in before
    }
    record = {"from": str(written), "to": str(target), "startedAt": now, **kept}
    return {**record, "phase": UPDATING, "pointOfNoReturn": AHEAD, "message": message}


def _examined(
    present: Resource,
    observed: Observed,
    children: Sequence[Manifest],
    path: tuple[Version, Version],
    windows: Maintenance,
) -> Upgrade:
    """Return what the checks came to: the upgrade begins when each has passed, or is waived."""
    (written, target), now = path, windows.at
    checks = checks_of(_subject(present, observed, children, path, now))
    rehearsal = missing_rehearsal(present, checks, target)
    if rehearsal is not None:
        said = under_way(observed, rehearsal)
        checks = [
            replace(one, message=said) if one.name is Name.REHEARSAL else one for one in checks
        ]
    room = _room(present, observed, children, checks, target)
    checks += [room.check] if room else []
    record = _examination(checks, observed)
    held = [one for one in checks if one.holds_back]
    if held or _is_paused(present) or windows.is_closed:
        ends: Json = {
            "from": str(written),
            "to": str(target),
            "phase": HELD,
            "pointOfNoReturn": AHEAD,
        }
        found = Catalog.read(observed.get(CATALOG_KEY))
        if held or not _is_paused(present):
            ends["message"] = _held(held, written, target) if held else _too_early(windows, written)
        else:
            ends |= {"message": _paused("all checks pass", written), "paused": True}
        started = [room.canary] if room and room.canary else []
        return Upgrade({**record, **ends}, started, rehearsal, _no_answer(found))
    # On record before anything is changed: once the new transaction node runs, only the record
    # tells that there was an earlier version, and that canary and catalog are to be waited for.
    return Upgrade(_begun(record, written, target, now), ())


def _room(
    present: Resource,
    observed: Observed,
    children: Sequence[Manifest],
    checks: Sequence[Check],
    target: Version,
) -> Room | None:
    """Return whether one more compute node has room; None where none is needed, or no canary is."""
    if _waives(present, Name.CANARY, target) or _waives(present, Name.ROOM, target):
        return None
    return find_room(observed, children, is_due=not any(one.holds_back for one in checks))


def _examination(checks: Sequence[Check], observed: Observed) -> Json:
    """Return what is on record of the checks."""
    record: Json = {"checks": [one.as_status() for one in checks]}
    if backup := next((one.subject for one in checks if one.subject), ""):
        record["backup"] = backup
    dn_set = as_table(as_table(observed.get("dnSet")).get("spec"))
    if runs := str(dn_set.get("image") or "").partition("@")[0].rpartition(":")[2]:
        record["runs"] = runs
    return record


def _advanced(
    present: Resource, observed: Observed, children: Sequence[Manifest], record: Json
) -> Upgrade:
    """Return which components are changed before the point of no return, and on record."""
    target = versions.parse(record["to"])
    given = asked_version(as_table(as_table(observed.get("dnSet")).get("spec")))
    is_given = given is not None and target is not None and given.release == target.release
    waived = _waives(present, Name.CANARY, target)
    first = before_compute_nodes(record, observed, children, waived=waived)
    if is_given:
        if _is_paused(present):
            late = "; spec.upgrade.paused comes too late, the transaction node is being replaced"
            record = {**record, "message": f"{record['message']}{late}"}
        return Upgrade(record, first)
    log_set = next(one for one in children if one["kind"] == names.LOG_SET)
    live = as_table(observed.get("logSet"))
    is_changed = as_table(live.get("spec")).get("image") == log_set["spec"].get("image")
    if not _is_paused(present):
        is_done = is_changed and holds_now(live, ConditionType.SYNCED)
        return Upgrade(record, first if is_done else [log_set])
    what = "log stores that have the new version keep it" if is_changed else "nothing is changed"
    paused = {**record, "paused": True, "message": _paused(what, record["from"])}
    return Upgrade(paused, [_stopped(log_set)] if is_changed else ())


def _stopped(log_set: Manifest) -> Manifest:
    """Return a LogSet of which no further log store is replaced."""
    spec = log_set["spec"]
    strategy = as_table(spec.get("updateStrategy"))
    partition = max(int(spec.get("replicas") or 0), int(strategy.get("partition") or 0))
    return {**log_set, "spec": {**spec, "updateStrategy": {**strategy, "partition": partition}}}


def _paused(what: str, written: Version | str) -> str:
    return (
        f"paused by spec.upgrade.paused before the point of no return: {what}; set it to false to "
        f"go on, or {written} again to cancel"
    )


def _too_early(windows: Maintenance, written: Version) -> str:
    when = f"that opens at {windows.opens}" if windows.opens else "; none will open"
    return (
        f"all checks pass; the upgrade begins in the maintenance window {when}; remove "
        f"spec.maintenance to begin now, or set {written} again to cancel"
    )


def _held(checks: Sequence[Check], written: Version, target: Version) -> str:
    first = checks[0]
    more = f" (and {len(checks) - 1} more in status.upgrade.checks)" if len(checks) > 1 else ""
    return (
        f"the upgrade from {written} to {target} is held back: {first.name} "
        f"{first.result.lower()}: {first.message}{more}; to cancel, set {written} again"
    )


def _subject(
    present: Resource,
    observed: Observed,
    children: Sequence[Manifest],
    path: tuple[Version, Version],
    now: str,
) -> Subject:
    live = {named(one): one for one in live_components(observed)}
    metadata = present["metadata"]
    sources = {
        source_ref(kind, metadata["namespace"], one["metadata"]["name"]): one["metadata"]["uid"]
        for kind, ones in (
            (names.CLUSTER, [present]),
            (names.CN_SET, observed.get("cnSets") or []),
        )
        for one in ones
        if one["metadata"].get("uid")
    }
    return Subject(
        *path,
        children={
            named(one): live.get(named(one)) for one in children if one["kind"] != names.WEB_UI
        },
        sources=sources,
        backups=observed.get(_BACKUPS),
        catalog=Catalog.read(observed.get(CATALOG_KEY)),
        settings=_settings(present),
        configurations=_configurations(children),
        now=now,
    )


def _configurations(children: Sequence[Manifest]) -> dict[str, Json]:
    return {
        named(one): toml.parse(one["spec"].get("config"), f"{named(one)}: spec.config")
        for one in children
        if one["kind"] != names.WEB_UI
    }


def _followed(
    present: Resource, observed: Observed, children: Sequence[Manifest], before: Json, now: str
) -> Upgrade:
    """Return the record after the point of no return: components, then the catalog to its end."""
    found = Catalog.read(observed.get(CATALOG_KEY))
    target = versions.parse(before["to"])
    catalog = _progress(as_table(before.get("catalog")), found, now)
    rolled = _is_rolled(observed, children)
    if rolled:
        catalog.setdefault("since", now)
    record = {**before, "pointOfNoReturn": PASSED, "phase": CATALOG if rolled else UPDATING}
    for name in ("message", "paused", "runs", "canary", "canarySince", "canaryAnswersSince"):
        record.pop(name, None)
    problem = found.problem if found else ""
    longest = _longest_wait(present)
    canary = try_canary(
        before,
        observed,
        children,
        waived=_waives(present, Name.CANARY, target),
        is_upgraded=bool(found and found.is_complete and _is_of(found, target)),
        now=now,
        longest=longest,
    )
    if canary.state:
        record["canary"] = canary.state
    if canary.since:
        record["canarySince"] = canary.since
    if canary.answers_since:
        record["canaryAnswersSince"] = canary.answers_since
    if rolled and _waives(present, Name.CATALOG, target):
        message = f"updated from {record.get('from')} to {target}; its catalog is not waited for"
        return Upgrade({**record, "phase": COMPLETED, "completedAt": now, "message": message})
    by_hand = not may_upgrade_catalog(_configurations(children))
    if rolled and found and found.is_complete and _is_final(catalog, found, target, now, by_hand):
        catalog = {key: value for key, value in catalog.items() if key != "message"}
        ended = {**record, "phase": COMPLETED, "completedAt": now, "catalog": catalog}
        return Upgrade({**ended, "message": f"upgraded from {record.get('from')} to {target}"})
    stuck = canary.stuck or _is_stuck(catalog, found, now, longest)
    said = found.summary if found and rolled else "the components are being updated"
    if rolled and by_hand:
        said += "; run UPGRADE ACCOUNT ALL as root: cn.auto-upgrade is false"
    what = "; ".join(filter(None, (canary.message, problem))) or said
    if _is_paused(present):
        what += "; spec.upgrade.paused has no effect any more"
    back = f"; {way_back(record)}" if stuck else ""
    message = f"past the point of no return to {target}: {what}{back}"
    record |= {"catalog": catalog, "message": message}
    return Upgrade(record, canary.applied, problem=_no_answer(found), stuck=stuck)


def _no_answer(found: Catalog | None) -> str:
    return found.problem if found and not found.serves else ""


def _progress(before: Record, found: Catalog | None, now: str) -> Json:
    """Return ``status.upgrade.catalog``: what was seen last, and since when it has been so."""
    if found is None:
        return dict(before)
    kept = {key: before[key] for key in ("since", "changedAt") if key in before}
    if found.problem:
        return {"changedAt": now, **before, "message": found.problem}
    seen: Json = {
        "version": found.version,
        "state": found.state,
        "stepsLeft": found.steps,
        "tenantsLeft": found.tenants,
    }
    if found.step:
        seen["step"] = found.step
    moved = any(before.get(key) != value for key, value in seen.items())
    changed = {"changedAt": now} if moved or "changedAt" not in kept else {}
    return {**kept, **changed, **seen, "message": found.summary}


def _is_rolled(observed: Observed, children: Sequence[Manifest]) -> bool:
    """Return whether all components run what is asked for: only then the catalog is upgraded."""
    live = {named(one): one for one in live_components(observed)}
    parts = [one for one in children if one["kind"] != names.WEB_UI]
    return all(
        holds_now(live.get(named(one)), ConditionType.SYNCED)
        and as_table(live[named(one)].get("spec")).get("image") == one["spec"].get("image")
        for one in parts
    )


def _is_final(
    catalog: Json, found: Catalog, target: Version | None, now: str, by_hand: bool
) -> bool:
    """Return whether the catalog has reached the version of the program that runs.

    MatrixOne names its catalog by a version of its own, mostly that of the release. Another one is
    final if it did not move since the components are up, unless it waits for somebody's statement.
    """
    if by_hand or _is_of(found, target):
        return _is_of(found, target)
    still = unix_time(now) - max(unix_time(catalog["since"]), unix_time(catalog["changedAt"]))
    return still >= _SETTLING


def _is_of(found: Catalog, target: Version | None) -> bool:
    return target is not None and found.release == target.release


def _is_stuck(catalog: Json, found: Catalog | None, now: str, longest: float) -> bool:
    """Return whether the catalog has not moved for too long."""
    if "changedAt" not in catalog or (found is not None and found.is_complete):
        return False
    since = max(unix_time(catalog["changedAt"]), unix_time(catalog.get("since") or ""))
    return unix_time(now) - since >= longest


def _longest_wait(present: Resource) -> float:
    """Return for how many seconds catalog and canary may stand still."""
    settings = _settings(present)
    if not settings.get("catalogTimeout"):
        return _CATALOG_SECONDS
    return seconds(Fields("spec.upgrade", settings), "catalogTimeout")


def _canceled(before: Record) -> Json:
    kept = {key: before[key] for key in ("from", "to") if key in before}
    message = "canceled: the version was set back before the point of no return"
    return {**kept, "phase": CANCELED, "message": message}


def _is_paused(resource: Resource) -> bool:
    """Return whether the upgrade is to be paused; the annotation pauses the whole cluster."""
    return _settings(resource).get("paused") is True


def _waives(present: Resource, name: Name, target: Version | None) -> bool:
    return target is not None and is_waived(name, _settings(present), target)


def _settings(resource: Resource) -> Mapping[str, Any]:
    return as_table(as_table(resource.get("spec")).get("upgrade"))


def live_components(observed: Observed) -> list[Resource]:
    """Return the components that exist, without the dashboard."""
    single = (observed.get(label) for label in ("logSet", "dnSet", "proxySet"))
    return [one for one in (*single, *(observed.get("cnSets") or [])) if one is not None]
