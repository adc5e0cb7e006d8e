# SPDX-License-Identifier: Apache-2.0
"""What a pass over a BucketClaim observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..api.types import Manifest, Resource
from ..backup.task.observed import TaskObserved, existing
from ..workload.plans import Observed
from .claims import Owner


@dataclass(frozen=True, slots=True)
class BucketObserved:
    """What is known of a BucketClaim when a pass decides.

    Attributes:
        others: the claims of all namespaces, or of its own where only that may be read.
        log_set: the LogSet that it is of; None if there is none.
        log_pods: the Pods of that LogSet, which may outlive it, and of a later one of its name,
            see `of_log_set`.
        dn_sets: the DNSets of its namespace, once it is deleted.
        cn_sets: the CNSets of its namespace, once it is deleted.
        marking_job: the Job that marks the path, once the claim is deleted; None if there is none.
        task: the objects of the Job that marks the path, or that deletes the data once the claim is
            deleted.
        existing: labels of what exists, the Secrets that it names among it.
    """

    others: Sequence[Resource] = ()
    log_set: Resource | None = None
    log_pods: Sequence[Manifest] = ()
    dn_sets: Sequence[Resource] = ()
    cn_sets: Sequence[Resource] = ()
    marking_job: Manifest | None = None
    task: TaskObserved = field(default_factory=TaskObserved)
    existing: frozenset[str] = frozenset()

    @classmethod
    def read(cls, observed: Observed) -> BucketObserved:
        """Read what ``observe`` returned by label."""
        everywhere = observed.get("claims")
        return cls(
            others=(everywhere if everywhere is not None else observed.get("neighbours")) or (),
            log_set=observed.get("logSet"),
            log_pods=observed.get("logPods") or (),
            dn_sets=observed.get("dnSets") or (),
            cn_sets=observed.get("cnSets") or (),
            marking_job=observed.get("claimJob"),
            task=TaskObserved.read(observed),
            existing=existing(observed),
        )

    def of_log_set(self, owner: Owner | None, found: Sequence[Resource]) -> list[Resource]:
        """Return those of a LogSet: not those of a later one of its name, which are younger.

        Args:
            owner: the LogSet; None if it is not known.
            found: Pods, or sets that refer to the LogSet by its name.
        """
        later = self.log_set["metadata"] if self.log_set is not None else {}
        if owner is None or not owner.uid or not later or later.get("uid") == owner.uid:
            return list(found)
        since = str(later.get("creationTimestamp") or "")
        return [one for one in found if str(one["metadata"].get("creationTimestamp")) < since]
