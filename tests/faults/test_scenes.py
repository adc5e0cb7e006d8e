# SPDX-License-Identifier: Apache-2.0
"""Every kind has a scene; in it a resource does its work, and then nothing is written any more."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils import kinds

from faults import checks
from faults.live.lives import lives
from faults.scenes import scenes
from faults.simulation.definitions import admitted, definitions, mistakes


def test_every_kind_has_a_scene_and_a_life_under_the_real_operator() -> None:
    assert set(scenes()) == set(kinds.KINDS) == set(definitions())
    assert set(lives()) == {*kinds.KINDS, "Memcached"}


WORKS = {
    "BackupJob": "Completed",
    "RestoreJob": "Completed",
    "Backup": "Available",
    "LogSet": "Ready",
    "DNSet": "Ready",
    "CNSet": "Ready",
    "ProxySet": "Ready",
    "WebUI": "Ready",
    "MatrixOneCluster": "Ready",
    "MatrixoneCluster": "Ready",
}
"""The phase in the end, of those that need no answer of the database."""


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_a_resource_does_its_work_and_becomes_quiet(kind: str) -> None:
    scene = scenes()[kind]
    schema = definitions()[kind].schema
    stored = admitted(schema, {**scene.subject, "metadata": {}})
    assert not list(mistakes(schema, {**stored, "metadata": {}}))
    world = scene.world()
    world.apply(scene.subject)
    world.settle()
    found = checks.require_reported(world, kind, scene.subject["metadata"]["name"])
    if kind in WORKS:
        assert found["status"]["phase"] == WORKS[kind], found["status"]
    written = len(world.session.writes)
    world.settle()
    assert len(world.session.writes) == written


@pytest.mark.parametrize("kind", ["LogSet", "CNSet", "BackupJob", "CNPool", "MatrixoneCluster"])
def test_a_deleted_resource_leaves_nothing_but_what_was_there(kind: str) -> None:
    scene = scenes()[kind]
    world = scene.world()
    world.settle()
    before = checks.state(world)
    world.apply(scene.subject)
    world.settle()
    world.delete(kind, "prod", scene.subject["metadata"]["name"])
    world.settle()
    lines = checks.differences(before, checks.state(world))
    # What a backup left is a Backup, with the Job that has looked at its data.
    kept = ("Backup/", "BucketClaim", "-check1")
    assert not [line for line in lines if not any(word in line for word in kept)]
