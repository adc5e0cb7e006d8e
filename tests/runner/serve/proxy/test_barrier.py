# SPDX-License-Identifier: Apache-2.0
"""A cache answers only what it has certainly seen."""

import asyncio
from dataclasses import dataclass, field

import pytest

from ansible_operator.kube.interface import GroupVersionKind, ResourceType
from ansible_operator.serve.proxy import barrier as module
from ansible_operator.serve.proxy.barrier import WriteBarrier

PODS = ResourceType(GroupVersionKind("", "v1", "Pod"), "pods", True)


@dataclass
class Cache:
    """An informer whose progress the test decides."""

    resource_version: str = "10"
    objects: dict = field(default_factory=dict)
    resource: ResourceType = PODS
    synced: asyncio.Event = field(default_factory=asyncio.Event)

    def get(self, namespace, name):
        return self.objects.get((namespace, name))

    def put(self, name, version, uid="u", **more):
        metadata = {"name": name, "uid": uid, "resourceVersion": version, **more}
        self.objects["n", name] = {"metadata": metadata}


@pytest.fixture
def cache():
    cache = Cache()
    cache.put("a", "5")
    return cache


@pytest.fixture
def barrier():
    return WriteBarrier()


def fresh(barrier, cache, name="a"):
    return barrier.object_if_fresh(cache, "n", name) is not None


def test_an_object_nobody_wrote_is_fresh(barrier, cache):
    assert fresh(barrier, cache)
    assert barrier.is_list_fresh(cache, "n")


def test_a_written_object_is_stale_until_the_cache_has_its_version(barrier, cache):
    barrier.note_write(PODS.gvk, "n", "a", "12")
    assert not fresh(barrier, cache)
    assert not barrier.is_list_fresh(cache, "n")
    assert not barrier.is_list_fresh(cache, "")
    assert barrier.is_list_fresh(cache, "elsewhere")
    cache.put("a", "12")
    assert fresh(barrier, cache)
    cache.resource_version = "12"
    assert barrier.is_list_fresh(cache, "n")


def test_other_objects_of_the_kind_stay_fresh(barrier, cache):
    cache.put("b", "6")
    barrier.note_write(PODS.gvk, "n", "a", "12")
    assert fresh(barrier, cache, "b")


def test_an_earlier_write_does_not_lower_the_mark(barrier, cache):
    barrier.note_write(PODS.gvk, "n", "a", "12")
    barrier.note_write(PODS.gvk, "n", "a", "11")
    cache.resource_version = "11"
    assert not fresh(barrier, cache)


def test_a_deleted_object_is_stale_while_the_cache_has_it(barrier, cache):
    barrier.note_deletion(PODS.gvk, "n", "a", "u", is_final=True)
    assert not fresh(barrier, cache)
    assert not barrier.is_list_fresh(cache, "n")
    cache.objects.clear()
    assert barrier.is_list_fresh(cache, "n")


def test_a_successor_under_the_same_name_is_fresh(barrier, cache):
    barrier.note_deletion(PODS.gvk, "n", "a", "u", is_final=True)
    cache.put("a", "9", uid="u2")
    assert fresh(barrier, cache)


def test_a_terminating_object_is_fresh_once_it_shows_that(barrier, cache):
    barrier.note_deletion(PODS.gvk, "n", "a", "u", is_final=False)
    assert not fresh(barrier, cache)
    cache.put("a", "9", deletionTimestamp="2026-01-01T00:00:00Z")
    assert fresh(barrier, cache)


def test_a_create_and_delete_that_the_cache_has_not_seen_keep_lists_live(barrier, cache):
    barrier.note_write(PODS.gvk, "n", "b", "12")
    barrier.note_deletion(PODS.gvk, "n", "b", "ub", is_final=True)
    assert not barrier.is_list_fresh(cache, "n")
    cache.resource_version = "12"
    cache.put("b", "12", uid="ub")
    assert not barrier.is_list_fresh(cache, "n")
    del cache.objects["n", "b"]
    assert barrier.is_list_fresh(cache, "n")


def test_versions_that_are_no_numbers_keep_the_kind_live(barrier, cache):
    barrier.note_write(PODS.gvk, "n", "z", "opaque")
    assert not fresh(barrier, cache)
    assert not barrier.is_list_fresh(cache, "n")


def test_memory_is_bounded_and_still_right(barrier, cache, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_MEMORY", 3)
    for version in range(20, 26):
        barrier.note_write(PODS.gvk, "n", f"p{version}", str(version))
    assert not fresh(barrier, cache)
    cache.resource_version = "25"
    assert fresh(barrier, cache)
    assert barrier.is_list_fresh(cache, "n")


def test_many_deletions_make_the_kind_live_only_while_the_cache_lags(barrier, cache, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_MEMORY", 3)
    for number in range(10):
        barrier.note_deletion(PODS.gvk, "n", f"gone{number}", "x", is_final=True, informer=cache)
    assert barrier.is_list_fresh(cache, "n")
    assert fresh(barrier, cache)


def test_a_write_through_another_version_of_the_api_counts(barrier, cache):
    """``apps/v1`` and ``apps/v1beta1`` show the same objects."""
    other = GroupVersionKind(PODS.gvk.group, "v1beta1", PODS.gvk.kind)
    barrier.note_write(other, "n", "a", "12")
    assert not fresh(barrier, cache)
    assert not barrier.is_list_fresh(cache, "n")
    cache.put("a", "12")
    assert fresh(barrier, cache)
    barrier.note_deletion(other, "n", "a", "u", is_final=True, informer=cache)
    assert not fresh(barrier, cache)
    barrier.note_unknown(other)
    assert not barrier.is_list_fresh(cache, "elsewhere")
