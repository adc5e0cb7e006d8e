# SPDX-License-Identifier: Apache-2.0
"""Which compute nodes leave when a set shrinks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from .drain import Drain
from .stores import CNStore

COST_OF_VICTIMS: Final = -1000
"""``pod-deletion-cost`` of Pods that leave first when the set shrinks."""


def pods_to_delete(
    stores: Sequence[CNStore], desired: int, present: int, chosen: Collection[str] = ()
) -> frozenset[str]:
    """Return the Pods that leave, so that as many as desired are left.

    While Pods are replaced by those of a newer template, there are more of them for a time, and
    Kubernetes deletes the older ones when the newer ones serve: then only a set that shrinks has
    Pods to delete, older ones, besides those that drain already.

    Those whose locks were taken leave first, since they serve no more; then those that were chosen;
    then those that drain already, so that a choice once made stays; then, as Kubernetes does it,
    those that are not ready; then cordoned ones; then the youngest.

    Args:
        stores: the Pods of the set.
        desired: how many Pods the set should have.
        present: how many Pods its workload has been told to have.
        chosen: Pods that ``spec.podsToDelete`` names.
    """
    candidates = [store for store in stores if not store.is_terminating]
    surplus = max(0, len(candidates) - desired)
    older = _older(candidates)
    if older:
        candidates = older
        draining = sum(store.draining_since is not None for store in older)
        surplus = max(draining, present - desired)
    youngest_first = sorted(
        candidates, key=lambda candidate: (candidate.created, candidate.pod), reverse=True
    )
    ranked = sorted(
        youngest_first,
        key=lambda one: (
            not one.locks_asked,
            one.pod not in chosen,
            one.draining_since is None,
            one.ready,
            not one.cordoned,
        ),
    )
    return frozenset(one.pod for one in ranked[:surplus])


def _older(candidates: Sequence[CNStore]) -> list[CNStore]:
    """Return those that are not of the template that the youngest was made from."""
    if not candidates:
        return []
    newest = max(candidates, key=lambda candidate: (candidate.created, candidate.pod)).template
    return [candidate for candidate in candidates if candidate.template != newest]


def unusable(stores: Sequence[CNStore], chosen: frozenset[str]) -> frozenset[str]:
    """Return the Pods that run, but have to be replaced, as far as that is due.

    The locks of some were taken before their drain was called off. The commits of others are
    refused since HAKeeper did not hear them for a time; these are replaced one after the other
    while a compute node is left that serves. Without an answer of HAKeeper it is unknown whether
    they are back.

    Args:
        stores: the Pods of the set.
        chosen: Pods that leave in any case.
    """
    staying = [store for store in stores if not store.is_terminating and store.pod not in chosen]
    without_locks = {one.pod for one in staying if one.locks_asked}
    back = sorted(one.pod for one in staying if one.refused and one.asked and not one.silent)
    serving = [one for one in staying if one.ready and not one.refused and not one.silent]
    if serving:
        changing = any(store.is_terminating or not store.ready for store in stores)
        back = [] if changing else back[:1]
    return frozenset(without_locks.union(back))


def outlived(stores: Sequence[CNStore], desired: int) -> frozenset[str]:
    """Return the Pods that no workload has, once the set has all those that it should have.

    Args:
        stores: the Pods of the set.
        desired: how many Pods the set should have.
    """
    own = [store for store in stores if not store.stray]
    serving = [one for one in own if one.ready and not one.refused and not one.silent]
    if not serving or len(serving) < desired:
        return frozenset()
    return frozenset(store.pod for store in stores if store.stray and not store.is_terminating)


def replicas_to_keep(present: int, desired: int, drains: Iterable[Drain]) -> int:
    """Return how many replicas the workload keeps for now.

    It shrinks when the drain of all Pods to delete is over, at once: Kubernetes then takes exactly
    them, because they have been the cheapest for as long as they drained.

    Args:
        present: replicas of the workload.
        desired: replicas that the set should have.
        drains: those of the Pods to delete.
    """
    if present <= desired or all(drain.finished for drain in drains):
        return desired
    return present
