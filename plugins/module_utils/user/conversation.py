# SPDX-License-Identifier: Apache-2.0
"""What is asked of a database about a user, and what is told it then: one session, no client.

Names in statements were checked and are quoted; values are left to the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..database_objects.conversation import Conversation, Rows, Statement
from .privileges import Grant, Level, Place
from .spec import UserSpec

_OWN: frozenset[tuple[str, str]] = frozenset(
    {("database ownership", "d"), ("table ownership", "d.t")}
)
"""What MatrixOne grants the role of whoever creates a database or table: no drift."""


@dataclass(frozen=True, slots=True)
class Held:
    """A privilege that a role has.

    Attributes:
        grant: the privilege.
        written: its level as MatrixOne has it (``d.t``, ``*`` ...), by which it is revoked.
        with_option: whether the role may grant it to others.
    """

    grant: Grant
    written: str
    with_option: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is as `Grant.on` would have granted it."""
        place, level = self.grant.place, self.grant.level
        if level is Level.TABLE:
            plain = ("d.t" if place.table else "d.*") if place.database else "*.*"
        else:
            plain = "d" if place.database else "*"
        return self.written == plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a database has of a user.

    Attributes:
        user: whether the user is there.
        role: whether its role is there, which tells that the user is ours.
        has_role: whether the user has the role.
        is_default: whether it is the role with which a session of the user begins.
        others: names of the other roles of the user, but for ``public``, which everybody has.
        held: what the role has.
        places: databases and tables, of those that a spec names, that are there.
    """

    user: bool = False
    role: bool = False
    has_role: bool = False
    is_default: bool = False
    others: frozenset[str] = frozenset()
    held: frozenset[Held] = frozenset()
    places: frozenset[Place] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a conversation about a user that is to exist.

    Attributes:
        taken: the user is somebody else's, and nothing was done.
        created: it was created now, with the password.
        granted: what its role has now, of what it is to have.
        missing: places that are not there, so that nothing could be granted on them.
        changes: how many statements were run.
    """

    taken: bool = False
    created: bool = False
    granted: frozenset[Grant] = frozenset()
    missing: frozenset[Place] = frozenset()
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Password:
    """The password that a user is to have.

    Attributes:
        text: never shown.
        fits: whether a login with it has just succeeded.
    """

    text: str = field(repr=False)
    fits: bool = False


def keep(spec: UserSpec, password: Password) -> Conversation[Outcome]:
    """Bring a user, its role and its privileges to what a spec asks for.

    Args:
        spec: what is asked for.
        password: of the user. It is set after all else, as the one thing that rules may refuse.
    """
    found = yield from _look(spec)
    if found.user and not found.role and not spec.adopts:
        return Outcome(taken=True)
    missing = _missing(spec.grants, found)
    wanted = frozenset(grant for grant in spec.grants if grant.place not in missing)
    statements = changes(spec, found, wanted, password)
    yield from _each(statements)
    return Outcome(
        created=not found.user,
        granted=wanted,
        missing=missing,
        changes=len(statements),
    )


def _each(statements: Iterable[Statement]) -> Conversation[None]:
    for statement in statements:
        # `yield from` would send the answers to the list, which takes none.
        _rows = yield statement


def drop(spec: UserSpec) -> Conversation[bool]:
    """Drop a user of ours and its role; return whether there was one."""
    found = yield from _look(spec)
    if not found.role:
        return False
    yield f"drop user if exists `{spec.user}`", ()
    yield f"drop role if exists `{spec.role}`", ()
    return True


def changes(
    spec: UserSpec, found: Found, wanted: frozenset[Grant], password: Password
) -> list[Statement]:
    """Return the statements that lead from what is there to what is wanted.

    The role comes first: it tells in the next pass that the user is ours, wherever this one ends.

    Args:
        spec: names of user and role.
        found: what is there.
        wanted: what the role is to have.
        password: of the user.
    """
    role = [] if found.role else [(f"create role `{spec.role}`", ())]
    return [
        *role,
        *_revoked(spec, found.held, wanted),
        *_granted(spec, found.held, wanted),
        *_user(spec, found, password),
    ]


def _revoked(spec: UserSpec, held: Iterable[Held], wanted: frozenset[Grant]) -> Iterable[Statement]:
    for one in sorted(held, key=lambda one: (one.grant, one.written)):
        if one.grant in wanted and one.is_plain and not one.with_option:
            continue
        if (one.grant.privilege, one.written) not in _OWN:
            yield from _revoking(spec, one)


def _revoking(spec: UserSpec, one: Held) -> Iterable[Statement]:
    """Yield what takes a privilege back; MatrixOne finds it by the way in which it was granted."""
    grant, place = one.grant, one.grant.place
    privilege = grant.privilege.removeprefix(f"{grant.level.value} ")
    on = grant.on
    if grant.level is Level.TABLE and one.written in ("*", "t"):
        yield f"use `{place.database}`", ()
        on = f"table `{place.table}`" if place.table else "table *"
    elif grant.level is Level.DATABASE and one.written == "*.*":
        on = "database *.*"
    yield f"revoke {privilege} on {on} from `{spec.role}`", ()


def _granted(spec: UserSpec, held: Iterable[Held], wanted: frozenset[Grant]) -> Iterable[Statement]:
    kept = {one.grant for one in held if one.is_plain and not one.with_option}
    for grant in sorted(wanted - kept):
        yield f"grant {grant.privilege} on {grant.on} to `{spec.role}`", ()


def _user(spec: UserSpec, found: Found, password: Password) -> Iterable[Statement]:
    """Yield what the user needs.

    Only `create user` sets the role with which sessions begin: `set default role` is accepted and
    does nothing (2.0.1). So a user with another one is created anew, with the other roles that it
    had. It gets its password before: one that breaks a rule must not leave it dropped.
    """
    user, role = f"`{spec.user}`", f"`{spec.role}`"
    creation = f"create user {user} identified by %s default role {role}", (password.text,)
    if not found.user:
        yield creation
        return
    if not password.fits:
        yield f"alter user {user} identified by %s", (password.text,)
    if not found.is_default:
        yield f"drop user {user}", ()
        yield creation
        for other in sorted(found.others):
            yield f"grant {_quoted(other)} to {user}", ()
    elif not found.has_role:
        yield f"grant {role} to {user}", ()


def _quoted(name: str) -> str:
    """Return a name that a database has as it stands in a statement; values have no `%s` then."""
    return f"`{name.replace('`', '``')}`".replace("%", "%%")


def _missing(grants: frozenset[Grant], found: Found) -> frozenset[Place]:
    named = {grant.place for grant in grants if grant.place.database}
    return frozenset(named - found.places)


def _look(spec: UserSpec) -> Conversation[Found]:
    """Ask what there is."""
    users = yield (
        "select user_id, default_role from mo_catalog.mo_user where user_name = %s",
        (spec.user,),
    )
    roles = yield "select role_id from mo_catalog.mo_role where role_name = %s", (spec.role,)
    places = yield from _places({grant.place for grant in spec.grants if grant.place.database})
    held: Rows = ()
    if roles:
        held = yield _PRIVILEGES, (int(roles[0][0]),)
    members: set[str] = set()
    if users:
        rows = yield _ROLES, (int(users[0][0]),)
        members = {str(row[0]) for row in rows}
    return Found(
        user=bool(users),
        role=bool(roles),
        has_role=spec.role in members,
        is_default=bool(users and roles) and int(users[0][1]) == int(roles[0][0]),
        others=frozenset(members - {spec.role, _EVERYBODY}),
        held=frozenset(one for row in held if (one := held_of(row)) is not None),
        places=places,
    )


_EVERYBODY = "public"
_ROLES = (
    "select r.role_name from mo_catalog.mo_user_grant g"
    " join mo_catalog.mo_role r on g.role_id = r.role_id where g.user_id = %s"
)
_PRIVILEGES = (
    "select p.obj_type, p.obj_id, p.privilege_name, p.privilege_level, p.with_grant_option,"
    " d.datname, t.reldatabase, t.relname from mo_catalog.mo_role_privs p"
    " left join mo_catalog.mo_database d on p.obj_id = d.dat_id"
    " left join mo_catalog.mo_tables t on p.obj_id = t.rel_id where p.role_id = %s"
)


def held_of(row: Sequence[Any]) -> Held | None:
    """Return the privilege in a row; None for one on what is there no more, or of no known level.

    Such a row stays when a database or table is dropped. Numbers are not given twice, so that it
    allows nothing.
    """
    kind, number, privilege, written, option, database, of_table, table = row
    if kind not in set(Level):
        return None
    place = Place()
    if int(number):
        if written in ("d.t", "t"):
            place = Place(str(of_table or ""), str(table or ""))
        else:
            place = Place(str(database or ""))
        if not place.database:
            return None
    grant = Grant(place, Level(str(kind)), str(privilege))
    return Held(grant, str(written), str(option).lower() in ("true", "1"))


_DATABASES = "select datname from mo_catalog.mo_database where account_id = 0 and datname in %s"
_TABLES = (
    "select reldatabase, relname from mo_catalog.mo_tables"
    " where account_id = 0 and reldatabase in %s and relname in %s"
)


def _places(named: set[Place]) -> Conversation[frozenset[Place]]:
    """Ask which of some databases and tables are there; those of other accounts do not count."""
    if not named:
        return frozenset()
    databases = sorted({place.database for place in named})
    rows = yield _DATABASES, (databases,)
    found = {Place(str(row[0])) for row in rows}
    tables = sorted(place for place in named if place.table)
    if tables:
        rows = yield _TABLES, ([one.database for one in tables], [one.table for one in tables])
        found |= {Place(str(row[0]), str(row[1])) for row in rows}
    return frozenset(found)
