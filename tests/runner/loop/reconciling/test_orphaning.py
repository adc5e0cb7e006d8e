# SPDX-License-Identifier: Apache-2.0
"""Deletions that leave the dependents alone are remembered until the object is gone."""

from typing import Any

import pytest

from ansible_operator.kube.interface import EventType
from ansible_operator.loop.reconciling.orphaning import OrphaningDeletions

OURS = "ours.example.com/clean"
AT = "2026-01-01T00:00:00Z"


def an_object(*finalizers: str, uid: str = "u", deleted: bool = True) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "o", "uid": uid, "finalizers": list(finalizers)}
    return {"metadata": metadata | ({"deletionTimestamp": AT} if deleted else {})}


@pytest.mark.parametrize(
    ("seen", "finalizers"),
    [
        ([], [OURS]),
        ([an_object(OURS, "orphan")], [OURS, "orphan"]),
        ([an_object(OURS, "orphan"), an_object(OURS)], [OURS, "orphan"]),
        ([an_object(OURS)], [OURS]),
        ([an_object(OURS, "orphan", deleted=False)], [OURS]),
        ([an_object(OURS, "orphan", uid="another")], [OURS]),
    ],
    ids=["unseen", "deleted", "released", "with its dependents", "lives", "another of its name"],
)
def test_an_object_is_played_as_its_deletion_was_requested(
    seen: list[dict[str, Any]], finalizers: list[str]
) -> None:
    orphaning, before = OrphaningDeletions(), an_object(OURS, deleted=False)
    for number, one in enumerate(seen):
        orphaning(EventType.MODIFIED if number else EventType.ADDED, before, one)
    found = an_object(OURS)
    assert orphaning.as_requested(found)["metadata"]["finalizers"] == finalizers
    assert found == an_object(OURS)


def test_one_that_has_it_is_left_as_it_is() -> None:
    orphaning, found = OrphaningDeletions(), an_object(OURS, "orphan")
    orphaning(EventType.ADDED, None, found)
    assert orphaning.as_requested(found) is found


def test_one_that_is_gone_is_forgotten() -> None:
    orphaning = OrphaningDeletions()
    orphaning(EventType.ADDED, None, an_object(OURS, "orphan"))
    orphaning(EventType.DELETED, None, an_object())
    assert orphaning.as_requested(an_object(OURS)) == an_object(OURS)
