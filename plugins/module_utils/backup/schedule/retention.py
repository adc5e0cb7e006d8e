# SPDX-License-Identifier: Apache-2.0
"""Which backups of a schedule go.

A backup stays if a rule of the policy keeps it and it is younger than the greatest age. The rules
count for each database by itself: a schedule that is pointed at another one, or one of the same
name as an earlier schedule, does not take the place of what is left of the first. Whatever the
policy says, of each database the newest backup that can be restored stays, and so does what is in
use, and every base of one that stays. While it is not known how one of them is, none goes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from ...api.cron import CALENDAR
from ..chains import Link, newest_first, whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What is kept; without any number, everything that is young enough.

    Attributes:
        last: this many of the newest.
        daily: the newest of each of this many days that have backups.
        weekly: the same for weeks, from Monday.
        monthly: the same for months.
        max_age: nothing older; None for no limit.
    """

    last: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    max_age: timedelta | None = None

    @property
    def counts(self) -> bool:
        """Whether backups are kept by number."""
        return any((self.last, self.daily, self.weekly, self.monthly))

    @property
    def deletes(self) -> bool:
        """Whether there is a rule at all."""
        return self.counts or self.max_age is not None


def expired(
    links: Sequence[Link],
    policy: Policy,
    now: datetime,
    zone: tzinfo,
    in_use: Collection[str] = (),
) -> list[str]:
    """Return the names of the backups to delete, those that build on others first.

    One that cannot be restored takes no place among those that are kept. It goes as soon as
    ``policy.last``, or else one, newer backup of the same database can be restored, or when it is
    too old.

    Args:
        links: all backups of the schedule.
        policy: what is kept.
        now: the present.
        zone: in which days, weeks and months are counted.
        in_use: names of backups that something needs.

    Returns:
        Nothing while it is not known of one of them how it is.
    """
    if not policy.deletes or not all(link.known for link in links):
        return []
    restorable = whole(links)
    wanted = {link.id for link in links if link.pinned or link.name in in_use}
    for group in _by_source(links):
        of_group = [link for link in restorable if link.source == group[0].source]
        wanted |= _kept_of(group, of_group, policy, now, zone)
    wanted |= _bases(links, wanted)
    return [link.name for link in newest_first(links) if link.id not in wanted]


def _by_source(links: Iterable[Link]) -> Iterable[list[Link]]:
    groups: defaultdict[str, list[Link]] = defaultdict(list)
    for link in links:
        groups[link.source].append(link)
    return groups.values()


def _kept_of(
    links: Sequence[Link],
    restorable: Sequence[Link],
    policy: Policy,
    now: datetime,
    zone: tzinfo,
) -> set[str]:
    """Return the ids of the backups of one database that stay, but for their bases.

    Args:
        links: all of the database.
        restorable: those that can be restored, newest first.
        policy: what is kept.
        now: the present.
        zone: in which days, weeks and months are counted.
    """
    if not restorable:
        return {link.id for link in links}
    stays = {restorable[0].id}
    stays |= {link.id for link in _wanted(restorable, policy, now, zone)}
    return stays | {link.id for link in _broken(links, restorable, policy, now)}


def _wanted(
    restorable: Sequence[Link], policy: Policy, now: datetime, zone: tzinfo
) -> Iterator[Link]:
    """Yield what the rules keep of the backups that can be restored, newest first."""
    chosen = _counted(restorable, policy, zone) if policy.counts else restorable
    return (link for link in chosen if _is_young(link, policy, now))


def _counted(restorable: Sequence[Link], policy: Policy, zone: tzinfo) -> Iterator[Link]:
    yield from restorable[: policy.last]
    for period, count in (
        ("daily", policy.daily),
        ("weekly", policy.weekly),
        ("monthly", policy.monthly),
    ):
        yield from _newest_of_each(restorable, count, zone, CALENDAR[period])


def _newest_of_each(
    restorable: Sequence[Link],
    count: int,
    zone: tzinfo,
    period_of: Callable[[datetime], tuple[int, ...]],
) -> list[Link]:
    """Return the newest backup of each of the last periods that have one."""
    newest: dict[tuple[int, ...], Link] = {}
    for link in restorable:
        newest.setdefault(period_of(link.at.astimezone(zone)), link)
    return list(newest.values())[:count]


def _broken(
    links: Iterable[Link], restorable: Sequence[Link], policy: Policy, now: datetime
) -> Iterator[Link]:
    """Yield what is kept of the backups that cannot be restored."""
    enough = max(policy.last, 1) if policy.counts else len(restorable) + 1
    ids = {link.id for link in restorable}
    for link in links:
        newer = sum(other.at > link.at for other in restorable)
        if link.id not in ids and newer < enough and _is_young(link, policy, now):
            yield link


def _is_young(link: Link, policy: Policy, now: datetime) -> bool:
    return policy.max_age is None or now - link.at <= policy.max_age


def _bases(links: Iterable[Link], wanted: Iterable[str]) -> set[str]:
    """Return the ids of all bases of the wanted backups.

    Two Backups may have one id, and name different bases: what either of them needs stays.
    """
    bases_of: defaultdict[str, set[str]] = defaultdict(set)
    for link in links:
        if link.base:
            bases_of[link.id].add(link.base)
    found, unread = set(wanted), list(wanted)
    while unread:
        below = bases_of[unread.pop()] - found
        found |= below
        unread += below
    return found
