# SPDX-License-Identifier: Apache-2.0
"""A database is upgraded to a newer release: not before its checks pass, and to the end."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.versions import parse

import testbed
from testbed import database
from testbed.bed import TestBed
from testbed.images import recipes
from testbed.object_store import ObjectStore
from testbed.progress import silent
from tests.e2e.backups import (
    Bucket,
    back_up,
    rehearsed,
    require_rows_of,
    restore,
    root_secret,
    verified,
)
from tests.e2e.clusters import Cluster, operating
from tests.e2e.traffic import Traffic, conclude, rows_seen
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]

Json = dict[str, Any]
UPGRADE_SECONDS = 300.0
REHEARSAL_SECONDS = 900.0
"""A catalog counts as standing still after five minutes."""


def _upgrade(cluster: Cluster) -> Json:
    return dict(cluster.get("mo", "mo")["status"].get("upgrade") or {})


def _results(cluster: Cluster) -> Json:
    return {one["name"]: one["result"] for one in _upgrade(cluster).get("checks") or []}


def _in_phase(cluster: Cluster, phase: str, seconds: float = UPGRADE_SECONDS) -> Json:
    """Wait for a phase of the upgrade; return its record."""
    eventually(
        lambda: _upgrade(cluster).get("phase") == phase,
        seconds,
        phase,
        otherwise=lambda: json.dumps(cluster.get("mo", "mo")["status"], indent=1),
    )
    return _upgrade(cluster)


def _pods(cluster: Cluster) -> set[str]:
    kinds = ("LogSet", "DNSet", "CNSet", "ProxySet")
    return {one["metadata"]["uid"] for kind in kinds for one in cluster.pods(kind).values()}


def _events(cluster: Cluster) -> list[str]:
    items = cluster.get("events.events.k8s.io")["items"]
    return [one["reason"] for one in items if one["regarding"]["kind"] == "MatrixOneCluster"]


def _serving(cluster: Cluster, place: Bucket, version: str, replicas: int = 1) -> set[str]:
    """Create the cluster with its bucket; return its Pods once it is known what wrote its data."""
    place.prepare(cluster)
    resource = place.cluster(cluster.namespace)
    resource["spec"]["version"] = version
    nodes = {"replicas": replicas, "scalingConfig": {"storeDrainEnabled": True}}
    resource["spec"]["cnGroups"][0] |= nodes
    cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
    cluster.await_ready()
    eventually(lambda: cluster.get("mo", "mo")["status"]["tn"].get("dataVersion"), 60)
    return _pods(cluster)


def _target(bed: TestBed, present: database.Database) -> database.Database:
    """Give the node the database to upgrade to: `database.upgraded`, or the same program."""
    newer = database.upgraded()
    if newer is not None:
        testbed.load_image(str(recipes.matrixone(newer, silent)), bed.name)
        return newer
    version = parse(present.tag)
    assert version, "the tag has to be a version"
    newer = replace(present, tag=f"{version.major}.{version.minor + 1}.0")
    testbed.tag_image(present.reference, newer.reference, bed.name)
    return newer


def _node_sets(cluster: Cluster) -> list[str]:
    return [one["metadata"]["name"] for one in cluster.get("cnset")["items"]]


def _is_major(origin: str, target: str) -> bool:
    first, second = (parse(tag) for tag in (origin, target))
    return first is None or second is None or first.major != second.major


def test_an_upgrade_waits_for_a_proven_backup_and_ends_in_the_catalog(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The same program under the tag of the next minor release, or another one that is given."""
    present = database.chosen()
    target = _target(bed_with_jobs, present).tag
    rehearsal = {"Rehearsal": "Unknown"} if _is_major(present.tag, target) else {}
    place = Bucket(real_object_store)
    with operating(bed_with_jobs, tmp_path_factory.mktemp("operator"), "upgrade") as cluster:
        before = _serving(cluster, place, present.tag, replicas=2)
        with Traffic(cluster, "upgrade-tag") as traffic:
            time.sleep(3)
            asked = {"canaryStatements": ["show databases", "select 'a%' like 'a%'"]}
            cluster.patch("mo", "mo", {"spec": {"version": target, "upgrade": asked}})
            _in_phase(cluster, "Held")
            eventually(lambda: _results(cluster).get("Catalog") == "Passed", 60)
            assert _results(cluster) == {
                "Health": "Passed",
                "Backup": "Failed",
                "Catalog": "Passed",
                "Path": "Passed",
                "Configuration": "Passed",
                "Room": "Unknown",
                **rehearsal,
            }
            synced = cluster.condition("mo", "mo", "Synced")
            assert (synced["status"], synced["reason"]) == ("False", "UpgradeHeld")
            assert "there is no Backup of this cluster" in synced["message"]
            assert cluster.condition("mo", "mo", "Ready")["status"] == "True"
            back_up(cluster, place, "before")
            assert "is not proven" in str(_upgrade(cluster)) or _in_phase(cluster, "Held")
            assert _pods(cluster) == before
            ended = rehearsed(cluster, "before", target)
            assert (ended["result"], ended["version"]) == ("Passed", target), ended
            assert _results(cluster)["Backup"] == "Failed", "of another version"
            assert _pods(cluster) == before
            cluster.patch("mo", "mo", {"spec": {"upgrade": {"paused": True}}})
            assert verified(cluster, "before")["result"] == "Passed"
            eventually(
                lambda: cluster.condition("mo", "mo", "Synced")["reason"] == "UpgradePaused", 120
            )
            eventually(lambda: set(_results(cluster).values()) == {"Passed"}, 120)
            assert before < _pods(cluster), "one more compute node keeps room for the canary"
            cluster.patch("mo", "mo", {"spec": {"upgrade": {"paused": False}}})
            _in_phase(cluster, "Completed")
            time.sleep(3)
        traffic.require_nothing_lost(longest=60.0, errors=400)
        cluster.kubectl("wait", "--for=condition=Synced", "mo/mo", "--timeout=60s")
        ended = _upgrade(cluster)
        assert (ended["from"], ended["to"]) == (present.tag, target)
        assert (ended["pointOfNoReturn"], ended["catalog"]["state"]) == ("Passed", 2)
        assert ended["canary"] == "Passed"
        # They drain: the canary, which has upgraded the catalog, and those of before.
        eventually(lambda: _node_sets(cluster) == ["mo-tp"], 120)
        assert {one["result"] for one in ended["checks"]} == {"Passed"}
        assert cluster.get("mo", "mo")["status"]["tn"]["dataVersion"] == target
        eventually(lambda: not before & _pods(cluster), 120, "the last compute node has drained")
        for reason in (
            "UpgradeHeld",
            "UpgradeStarted",
            "PointOfNoReturnPassed",
            "CanaryPassed",
            "UpgradeCompleted",
        ):
            assert reason in _events(cluster)
        conclude(f"upgrade {present.tag} to {target}: {json.dumps(ended)}")
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")


def _raise_to(cluster: Cluster, version: str, *waived: str) -> None:
    """Raise the version, with checks that are waived, and a minute for the catalog to move."""
    settings: Json = {"catalogTimeout": "1m"}
    if waived:
        settings["waive"] = {"to": version, "checks": list(waived)}
    cluster.patch("mo", "mo", {"spec": {"version": version, "upgrade": settings}})


def test_an_upgrade_that_kills_a_database_is_held_back_and_reported_where_it_is_forced(
    bed_with_jobs: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The snapshot of 2.0 cannot take over the catalog of the one of 1.3."""
    old, new = database.BUILT["1.3"], database.BUILT["2.0"]
    for one in (old, new):
        testbed.load_image(str(recipes.matrixone(one, silent)), bed_with_jobs.name)
    place = Bucket(real_object_store)
    with operating(bed_with_jobs, tmp_path_factory.mktemp("operator"), "killed") as cluster:
        before = _serving(cluster, place, old.tag)
        with Traffic(cluster, "upgrade-held") as traffic:
            time.sleep(3)
            saved = back_up(cluster, place, "before")
            _raise_to(cluster, new.tag)
            eventually(lambda: _results(cluster).get("Path") == "Failed", 60)
            assert _results(cluster) == {
                "Health": "Passed",
                "Backup": "Failed",
                "Catalog": "Passed",
                "Path": "Failed",
                "Configuration": "Passed",
                "Rehearsal": "Unknown",
                "Room": "Unknown",
            }
            assert verified(cluster, "before")["result"] == "Passed"
            _raise_to(cluster, new.tag, "Path")
            eventually(lambda: _results(cluster).get("Rehearsal") == "Failed", REHEARSAL_SECONDS)
            rehearsal = _upgrade(cluster)
            assert "does not end" in rehearsal["message"], rehearsal
            assert before <= _pods(cluster), "those of the rehearsal are beside them"
            _raise_to(cluster, old.tag)
            _in_phase(cluster, "Canceled", 60)
            time.sleep(2)
        traffic.require_nothing_lost(longest=30.0)
        assert before <= _pods(cluster)
        cluster.kubectl("wait", "--for=condition=Synced", "mo/mo", "--timeout=60s")

        cluster.kubectl("apply", "-f", "-", input=json.dumps(root_secret(cluster)))
        _raise_to(cluster, new.tag, "Path", "Rehearsal")
        eventually(lambda: _upgrade(cluster).get("pointOfNoReturn") == "Passed", UPGRADE_SECONDS)
        degraded = eventually(lambda: _is(cluster, "Degraded", "True"), UPGRADE_SECONDS)
        # Compute nodes of 1.3 end when the transaction node is one of 2.0, and one of 2.0 answers
        # until it comes to the catalog: the canary does not save this database.
        assert _is(cluster, "Synced", "False")
        record, ready = _upgrade(cluster), cluster.condition("mo", "mo", "Ready")
        assert record["phase"] in {"Updating", "UpgradingCatalog"}
        conclude(f"rehearsal of {new.tag}: {rehearsal}")
        conclude(f"upgrade {old.tag} to {new.tag}, forced: {degraded} {ready} {record}")

        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")
        cluster.forget_entrance()
        resource = place.cluster(f"{cluster.namespace}-back")
        resource["spec"]["version"] = old.tag
        restore(cluster, resource, place.location(f"{cluster.namespace}/before"), "way-back")
        with cluster.connect() as session:
            require_rows_of(traffic, rows_seen(session), saved)
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")


def _is(cluster: Cluster, of: str, status: str) -> Json:
    found = cluster.condition("mo", "mo", of)
    return found if found.get("status") == status else {}
