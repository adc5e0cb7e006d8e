# SPDX-License-Identifier: Apache-2.0
"""Carry out in the database what a Database asks for."""

from __future__ import annotations

from dataclasses import dataclass

from ..api.timestamps import timestamp_now
from ..api.types import Resource
from ..clients.kubernetes.applying import Writer
from ..clients.sql import SqlError, converse
from ..database_objects.conditions import is_fresh
from ..database_objects.conversation import Conversation
from ..database_objects.root_session import Refused, refusal, root
from ..reporting.reasons import ObjectReason
from . import conversation
from .conversation import Known, Outcome
from .results import DatabaseResults
from .spec import DatabaseSpec


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Brings the database of a resource about, or drops it.

    Attributes:
        writer: of objects in Kubernetes.
        resource: the Database, with its status so far.
        cluster: the MatrixOneCluster.
        service: behind which SQL is answered.
        seconds: for all that is asked in one session.
    """

    writer: Writer
    resource: Resource
    cluster: Resource
    service: str
    seconds: float

    def keep(self) -> DatabaseResults:
        """Create the database unless it is there; what went wrong is in the result."""
        if is_fresh(self.resource, timestamp_now()):
            return DatabaseResults(unchanged=True)
        known = self._known()
        try:
            return _kept(known, self._asked(conversation.keep(known)))
        except Refused as problem:
            return DatabaseResults(reason=problem.reason.value, message=str(problem))

    def drop(self) -> DatabaseResults:
        """Drop the database if it is the one that the resource stands for."""
        try:
            outcome = self._asked(conversation.drop(self._known()))
        except Refused as problem:
            return DatabaseResults(reason=problem.reason.value, message=str(problem))
        return DatabaseResults(
            checked=timestamp_now(), dropped=outcome.dropped, spared=outcome.taken
        )

    def _known(self) -> Known:
        spec = DatabaseSpec.of(self.resource)
        number = str((self.resource.get("status") or {}).get("id") or "")
        # A restore from a snapshot replaces a database: no harm where none is dropped.
        is_harmless = bool(number) and not spec.deletes
        return Known(
            name=spec.database,
            uid=str(self.resource["metadata"]["uid"]),
            number=number,
            adopts=spec.adopts or is_harmless,
        )

    def _asked(self, conversation: Conversation[Outcome]) -> Outcome:
        """Return what came of it.

        Raises:
            Refused: the database refuses, or does not answer.
        """
        try:
            session = root(self.writer, self.cluster, self.service)
            return converse(session, conversation, self.seconds)
        except SqlError as error:
            raise refusal(error, error.said()) from None


def _kept(known: Known, outcome: Outcome) -> DatabaseResults:
    """Return what is reported of a database that is to exist.

    Raises:
        Refused: it is not the one of the resource, or is not there any more.
    """
    if outcome.taken and known.number:
        raise Refused(
            ObjectReason.DATABASE_EXISTS,
            f"database {known.name} is another one (number {outcome.number}) than that of this "
            f"resource (number {known.number}), and deletionPolicy is Delete: set spec.adopt to "
            "take it over, for example after it was restored from a snapshot",
        )
    if outcome.taken:
        raise Refused(
            ObjectReason.DATABASE_EXISTS,
            f"database {known.name} exists and was not created for a Database: set spec.adopt to "
            "take it over, or choose another spec.name",
        )
    if outcome.lost:
        raise Refused(
            ObjectReason.DATABASE_LOST,
            f"database {known.name} was here and is not any more; an empty one is not created in "
            "its place: restore it from a snapshot or a Backup, or delete this resource and apply "
            "it again for an empty one",
        )
    return DatabaseResults(number=outcome.number, checked=timestamp_now(), created=outcome.created)
