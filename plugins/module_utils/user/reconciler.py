# SPDX-License-Identifier: Apache-2.0
"""Carry out in the database what a DatabaseUser asks for. Passwords stay in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..api.timestamps import timestamp_now
from ..api.types import Resource
from ..clients.kubernetes.applying import Writer
from ..clients.sql import Entrance, SqlError, accepts, converse
from ..cluster.connection import Connection, Target, identifying_labels
from ..cluster.connection_writer import is_written, write, write_one
from ..cluster.logins import find_secret
from ..cluster.passwords import broken_rule, login_problem, random_password
from ..cluster.rendering import render_matrixonecluster
from ..cluster.root_credential import Login, login_of, mistake_in, version_of
from ..database_objects.conditions import is_fresh
from ..database_objects.root_session import Refused, refusal, root
from ..reporting.reasons import ObjectReason
from . import connection, conversation
from .conversation import Outcome, Password
from .privileges import shown
from .results import UserResults
from .secret import goes_along, secret, secret_name
from .spec import UserSpec


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Brings the user of a resource about, or drops it.

    Attributes:
        writer: of objects in Kubernetes, which the resource owns.
        resource: the DatabaseUser, with its status so far.
        cluster: the MatrixOneCluster.
        service: behind which SQL is answered.
        seconds: for all that is asked of the database in one session.
    """

    writer: Writer
    resource: Resource
    cluster: Resource
    service: str
    seconds: float

    def keep(self) -> UserResults:
        """Create or change the user; what went wrong is in the result."""
        spec = UserSpec.of(self.resource)
        done = UserResults(secret=secret_name(self.resource, spec))
        try:
            found = self._secret(spec)
            done = replace(done, version=version_of(found))
            login = replace(_password(found, done.secret), user=spec.user)
            if self._is_fresh(done.version) and self._is_told(spec, login):
                return replace(done, unchanged=True)
            return self._told(spec, login, self._kept(spec, login, done))
        except Refused as problem:
            return replace(done, version="", reason=problem.reason.value, message=str(problem))

    def drop(self) -> UserResults:
        """Drop the user and its role.

        A Secret that was created for it goes, too. One that an earlier resource has left behind has
        no owner, and does not get one that is being deleted.
        """
        spec = UserSpec.of(self.resource)
        done = UserResults(secret=secret_name(self.resource, spec))
        try:
            root = self._root()
            dropped = converse(root, conversation.drop(spec), self.seconds)
        except SqlError as error:
            problem = _of_statement(error)
            return replace(done, reason=problem.reason.value, message=str(problem))
        except Refused as problem:
            return replace(done, reason=problem.reason.value, message=str(problem))
        found = find_secret(self.writer, self.resource, done.secret)
        if dropped and found is not None and goes_along(found, spec):
            self.writer.leave_to_garbage_collector(found)
        return replace(done, changes=int(dropped))

    def _kept(self, spec: UserSpec, login: Login, done: UserResults) -> UserResults:
        root = self._root()
        user = replace(root, user=spec.user, password=login.password)
        before = (self.resource.get("status") or {}).get("secretVersion")
        fits = before == done.version and self._fits(user)
        password = Password(login.password, fits)
        try:
            outcome = converse(root, conversation.keep(spec, password), self.seconds)
        except SqlError as error:
            # A history of passwords refuses the one that the user has, too.
            if not broken_rule(error.words) or not self._fits(user):
                raise _of_statement(error) from None
            password = replace(password, fits=True)
            outcome = self._again(root, spec, password)
        if outcome.taken:
            raise Refused(
                ObjectReason.USER_EXISTS,
                f"user {spec.user} exists and was not created for this resource: set spec.adopt to "
                "take it over with another password, or choose another spec.name",
            )
        if not password.fits and not self._fits(user):
            raise Refused(ObjectReason.PASSWORD_REFUSED, "the database refuses the new password")
        return _reported(done, outcome)

    def _is_told(self, spec: UserSpec, login: Login) -> bool:
        """Return whether applications can read how to connect, as far as that is asked for."""
        if not connection.is_asked(self.resource):
            return not connection.recorded(self.resource)
        return is_written(*self._teller(spec), self._target(), login)

    def _told(self, spec: UserSpec, login: Login, done: UserResults) -> UserResults:
        """Tell applications how to connect as the user, who can log in; or take that back."""
        writer, settings = self._teller(spec)
        if not connection.is_asked(self.resource):
            name = connection.recorded(self.resource)
            found = list(write(writer, settings, Connection(obsolete=[name] if name else [])))
        else:
            found = [write_one(writer, settings, self._target(), login)]
        binding = next((one.name for one in found if one.exists), "")
        problem = "; ".join(one.problem for one in found if one.problem)
        if not problem or done.reason:
            return replace(done, binding=binding)
        reason = ObjectReason.CONNECTION_SECRET_NOT_APPLIED.value
        return replace(done, binding=binding, reason=reason, message=problem)

    def _target(self) -> Target:
        """Return where the Secret for applications leads to."""
        return connection.entrance_of(self.resource, render_matrixonecluster(self.cluster))

    def _teller(self, spec: UserSpec) -> tuple[Writer, Resource]:
        """Return what writes the Secret for applications, and what that is made from."""
        settings = connection.as_cluster(self.resource, spec.cluster)
        return replace(self.writer, identified_by=list(identifying_labels(settings))), settings

    def _again(self, root: Entrance, spec: UserSpec, password: Password) -> Outcome:
        try:
            return converse(root, conversation.keep(spec, password), self.seconds)
        except SqlError as error:
            raise _of_statement(error) from None

    def _secret(self, spec: UserSpec) -> Mapping[str, Any]:
        """Return the Secret with the password; create it if nobody has named one.

        Raises:
            Refused: it was named and does not exist.
        """
        name = secret_name(self.resource, spec)
        live = find_secret(self.writer, self.resource, name)
        if live is not None:
            return live
        if spec.secret:
            raise Refused(
                ObjectReason.SECRET_MISSING,
                f"Secret {name}, which spec.passwordSecretRef names, does not exist",
            )
        desired = secret(self.resource, spec, random_password())
        return dict(self.writer.create_once(desired).after or desired)

    def _is_fresh(self, version: str) -> bool:
        """Return whether all was as desired a short time ago, and nothing has changed since."""
        before = (self.resource.get("status") or {}).get("secretVersion")
        return bool(version) and before == version and is_fresh(self.resource, timestamp_now())

    def _root(self) -> Entrance:
        return root(self.writer, self.cluster, self.service)

    def _fits(self, user: Entrance) -> bool:
        """Return whether a login succeeds.

        Raises:
            Refused: the database could not be reached, or lets the user do nothing.
        """
        try:
            return accepts(user, self.seconds, is_final=login_problem)
        except SqlError as error:
            raise _of_login(error) from None


def _password(found: Mapping[str, Any], name: str) -> Login:
    """Return the login in a Secret, of which the password counts.

    Raises:
        Refused: it has none that can be given to the database.
    """
    try:
        login = login_of(found)
    except ValueError as error:
        raise Refused(ObjectReason.SECRET_MISSING, f"Secret {name}: {error}") from None
    mistake = mistake_in(replace(login, user="user"))
    if mistake:
        raise Refused(ObjectReason.SECRET_MISSING, f"Secret {name}: {mistake}")
    return login


def _of_statement(error: SqlError) -> Refused:
    """Return what is reported of a session of root; words may quote a password."""
    if rule := broken_rule(error.words):
        return Refused(ObjectReason.PASSWORD_REFUSED, rule)
    why = login_problem(error.words)
    return refusal(error, f"{error}: {why}" if why else str(error))


def _of_login(error: SqlError) -> Refused:
    why = login_problem(error.words)
    if why:
        return Refused(ObjectReason.PASSWORD_REFUSED, f"a login of the user: {why}")
    return Refused(ObjectReason.SQL_NOT_ANSWERED, f"a login of the user: {error}")


def _reported(done: UserResults, outcome: Outcome) -> UserResults:
    missing = sorted(map(str, outcome.missing))
    said = f"waiting for {', '.join(missing)} to exist: nothing can be granted on it before"
    return replace(
        done,
        reason=ObjectReason.DATABASE_MISSING.value if missing else "",
        message=said if missing else "",
        granted=shown(outcome.granted),
        missing=missing,
        checked=timestamp_now(),
        created=outcome.created,
        changes=outcome.changes,
    )
