# SPDX-License-Identifier: Apache-2.0
"""The long life of one cluster with the real database: anything happens to it, in any order.

A life lasts LIFE_MINUTES. What happens is drawn from LIFE_SEED, which every life prints. After each
step, or several at once, the cluster has to be as its spec asks for, with every acknowledged row.
LIFE_STEPS names the functions of `tests/soak/steps.py` that it is drawn from, if not all.
"""

import json
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

import testbed
from image.operator import operator_archive
from testbed import database, lifecycle
from testbed.bed import KubectlError, TestBed
from testbed.object_store import ObjectStore
from testbed.processes import find
from tests.e2e.backups import Bucket
from tests.e2e.clusters import draining, operating
from tests.e2e.traffic import REPORTS, Traffic
from tests.soak.invariants import (
    Seen,
    complaints,
    left_over,
    lost_rows,
    replaced_volumes,
    unsettled,
    warnings,
)
from tests.soak.life import Life
from tests.soak.steps import STEPS, backup
from tests.support.examples import later

MINUTES = float(os.environ.get("LIFE_MINUTES", "20"))
SEED = int(os.environ.get("LIFE_SEED") or random.SystemRandom().randrange(1_000_000))
CHOSEN = [
    one for one in STEPS if one.__name__ in os.environ.get("LIFE_STEPS", one.__name__).split(",")
]
pytestmark = [
    pytest.mark.node,
    pytest.mark.scenario,
    pytest.mark.timeout(1800 + 60 * MINUTES),
]

SETTLE_SECONDS = 900.0
"""Several rolling updates after each other, with drains, on a busy machine."""
_LOOK_SECONDS = 4.0
_PAUSES = (0.0, 0.0, 2.0, 8.0, 25.0)
"""Seconds between two moves."""


@pytest.fixture
def life(
    real_testbed: TestBed,
    real_object_store: ObjectStore,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Life]:
    present = database.chosen()
    for patches in (1, 2):
        other = replace(present, tag=later(patches)).reference
        testbed.tag_image(present.reference, other, real_testbed.name)
    if backup in CHOSEN:
        lifecycle.load_image(str(operator_archive()), real_testbed.name)
    folder = tmp_path_factory.mktemp("operator")
    with operating(real_testbed, folder, "life", may_be_refused=True, everywhere=True) as cluster:
        place = Bucket(real_object_store)
        place.prepare(cluster)
        resource = draining(place.cluster(cluster.namespace))
        cluster.kubectl("apply", "-f", "-", input=json.dumps(resource))
        cluster.await_ready()
        with Traffic(cluster, f"life-{SEED}", every=5.0) as traffic:
            yield Life(cluster, traffic, place, SEED)
        cluster.kubectl("delete", "mo", "--all", "--timeout=240s")


def test_a_cluster_survives_all_that_happens(life: Life) -> None:
    begun = time.monotonic()
    before = settled(life)
    known = set(complaints(life.cluster))
    try:
        while time.monotonic() - begun < 60 * MINUTES:
            happen(life)
            now = settled(life)
            require(life, before, now, known)
            before = now
    except (AssertionError, KubectlError) as violation:
        life.note(f"violation: {violation}")
        diagnose(life)
        raise
    assert not life.traffic.missing


def happen(life: Life) -> None:
    """One step, or several whose moves overlap."""
    number = min(life.random.choice([1, 1, 2, 2, 3]), len(CHOSEN))
    steps = life.random.sample(CHOSEN, number)
    life.is_alone = len(steps) == 1
    life.note(f"--- {' + '.join(one.__name__ for one in steps)}")
    under_way = [step(life) for step in steps]
    while under_way:
        one = life.random.choice(under_way)
        try:
            life.note(next(one))
        except StopIteration:
            under_way.remove(one)
        else:
            time.sleep(life.random.choice(_PAUSES))


def settled(life: Life) -> Seen:
    """Wait until everything is as the spec asks for, twice in a row."""
    begun = time.monotonic()
    quiet, reasons = 0, ["nothing was seen"]
    while quiet < 2:
        assert time.monotonic() - begun < SETTLE_SECONDS, "\n".join(reasons)
        revive(life)
        seen = Seen(life.cluster)
        reasons = unsettled(seen)
        quiet = 0 if reasons else quiet + 1
        time.sleep(_LOOK_SECONDS)
    life.note(f"settled after {time.monotonic() - begun:.0f} s")
    return seen


def revive(life: Life) -> None:
    """Start what nobody else restarts: the scheduler may end a minute after the API server did."""
    bed = life.cluster.bed
    servers = [find(bed.places, name) for name in ("kube-scheduler", "kube-controller-manager")]
    if not all(one and one.alive() for one in servers):
        life.note("the test bed starts its control plane again")
        state = bed.state
        testbed.up(bed.name, nodes=state.nodes, node_count=state.node_count, images=["matrixone"])


def require(life: Life, before: Seen, now: Seen, known: set[str]) -> None:
    """Check what must hold after any history."""
    assert replaced_volumes(before, now, life.scaled_away) == []
    life.scaled_away.clear()
    assert left_over(before, now) == []
    assert lost_rows(life) == []
    assert not life.traffic.missing
    for line in complaints(life.cluster):
        if line not in known:
            known.add(line)
            life.note(f"log: {line}")


def diagnose(life: Life) -> None:
    """Keep what is needed to understand a violation."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    folder = REPORTS / f"life-{life.seed}"
    folder.mkdir(exist_ok=True)
    (folder / "history.txt").write_text("\n".join(life.history))
    (folder / "operator.log").write_text(life.cluster.operator.log.read_text(errors="replace"))
    for name, what in {
        "objects.yaml": "mo,logset,dnset,cnset,proxyset,pods,pvc,jobs,cm,statefulset,deployment,"
        "backupjob,database,databaseuser,bucketclaim",
        "events.yaml": "events.events.k8s.io",
    }.items():
        (folder / name).write_text(life.cluster.kubectl("get", what, "-o", "yaml"))
    for pod in (one["metadata"]["name"] for one in life.cluster.get("pods")["items"]):
        for previous in ((), ("--previous",)):
            try:
                said = life.cluster.kubectl("logs", pod, "--tail=3000", *previous)
            except KubectlError:
                continue
            (folder / f"{pod}{''.join(previous)}.log").write_text(said)
    sys.stdout.write("\n".join([f"LIFE_SEED={life.seed}", *life.history, f"see {folder}", ""]))
    for text, count in warnings(life.cluster).most_common():
        sys.stdout.write(f"{count} times {text}\n")
