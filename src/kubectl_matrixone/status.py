# SPDX-License-Identifier: Apache-2.0
"""One screen about a cluster."""

from collections.abc import Iterator
from datetime import datetime

from .facts import Backup, Cluster, Upgrade
from .terminal import Colour, Style, age, meaning, table


def screen(cluster: Cluster, now: datetime, style: Style) -> str:
    """Return all that is known of a cluster, for a person.

    Args:
        cluster: its facts.
        now: the present.
        style: of the terminal.
    """
    parts = (
        _head(cluster, style),
        _problems(cluster, now, style),
        _components(cluster, style),
        _pods(cluster, now, style),
        _storage(cluster, now, style),
        _upgrade(cluster.upgrade, style) if cluster.upgrade else iter(()),
        _unread(cluster, style),
    )
    blocks = ["\n".join(part) for part in parts]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _head(cluster: Cluster, style: Style) -> Iterator[str]:
    version = cluster.version or "version unknown"
    if cluster.wanted and cluster.wanted != cluster.version:
        version += f" (asked for: {cluster.wanted})"
    phase = style.paint(cluster.phase, meaning(cluster.phase))
    name = style.paint(f"MatrixOneCluster {cluster.namespace}/{cluster.name}", Colour.HEAD)
    yield f"{name}  {phase}  {version}"
    if cluster.address:
        login = f", root login in Secret {cluster.credential}" if cluster.credential else ""
        yield style.cut(f"SQL at {cluster.address}{login}")
    if cluster.binding:
        yield style.cut(f"Applications connect by Secret {cluster.binding}")


def _problems(cluster: Cluster, now: datetime, style: Style) -> Iterator[str]:
    for problem in cluster.problems:
        since = f" for {age(problem.since, now)}" if problem.since else ""
        colour = Colour.BAD if "Degraded" in problem.what else Colour.WARNING
        yield f"{style.paint(problem.what, colour)}{since}: {problem.reason}"
        if problem.message:
            yield f"  {problem.message}"


def _components(cluster: Cluster, style: Style) -> Iterator[str]:
    rows = [("COMPONENT", "READY", "VERSION", "PHASE", "MESSAGE")]
    for one in cluster.components:
        name = f"{one.kind} {one.name}"
        rows.append((name, one.pods, one.version or "?", one.phase, one.message))
    yield from table(rows, style, paint_column=3)


def _pods(cluster: Cluster, now: datetime, style: Style) -> Iterator[str]:
    if not cluster.pods:
        return
    rows = [("POD", "READY", "STATE", "RESTARTS", "AGE", "NODE")]
    for pod in cluster.pods:
        ready = "yes" if pod.ready else "no"
        restarts, node = str(pod.restarts), pod.node or "?"
        rows.append((pod.name, ready, pod.state, restarts, age(pod.started, now), node))
    yield from table(rows, style, paint_column=2)


def _storage(cluster: Cluster, now: datetime, style: Style) -> Iterator[str]:
    rows = []
    if cluster.storage:
        rows.append(("Data", cluster.storage))
    if cluster.shards:
        shown = (f"{one.number}: {one.available}/{one.replicas}" for one in cluster.shards)
        rows.append(("Log shards", ", ".join(shown)))
    if cluster.volumes:
        unbound = [f"{one.name} is {one.phase}" for one in cluster.volumes if one.phase != "Bound"]
        rows.append(("Volumes", "; ".join((sizes(cluster), *unbound))))
    rows.append(("Last backup", _backup(cluster.backup, now)))
    if cluster.certificate:
        expires = cluster.certificate.expires
        left = f"expires {expires:%Y-%m-%d %H:%M} UTC" if expires else "its end is unknown"
        rows.append(("Certificate", f"Secret {cluster.certificate.secret}, {left}"))
    width = max(len(name) for name, _text in rows)
    for name, text in rows:
        yield style.cut(f"{name.ljust(width)}  {text}")


def sizes(cluster: Cluster) -> str:
    """Return how many volumes of which size a cluster has."""
    counts: dict[str, int] = {}
    for one in cluster.volumes:
        counts[one.size] = counts.get(one.size, 0) + 1
    return ", ".join(f"{count} of {size}" for size, count in counts.items())


def _backup(backup: Backup | None, now: datetime) -> str:
    if backup is None:
        return "none is known"
    proven = "never proven by a restore"
    if backup.proven:
        proven = f"restored {age(backup.proven_at, now)} ago: {backup.proven}"
    return f"{backup.name}, {age(backup.moment, now)} old, {backup.phase}, {proven}"


def _upgrade(upgrade: Upgrade, style: Style) -> Iterator[str]:
    phase = style.paint(upgrade.phase, meaning(upgrade.phase))
    yield f"Upgrade from {upgrade.before} to {upgrade.to}: {phase}"
    if upgrade.phase in {"Completed", "Canceled"}:
        return
    yield f"  point of no return: {upgrade.point_of_no_return or 'unknown'}"
    if upgrade.message:
        yield f"  {upgrade.message}"
    for check in upgrade.checks:
        result = style.paint(check.result, meaning(check.result))
        yield f"  {check.name}: {result}" + (f" ({check.message})" if check.message else "")


def _unread(cluster: Cluster, style: Style) -> Iterator[str]:
    for text in cluster.unread:
        yield style.paint("not known", Colour.WARNING) + f": {text}"
