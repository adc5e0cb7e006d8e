# SPDX-License-Identifier: Apache-2.0
"""The management guide by Ansible, what takes a living operator: playbooks, image and database.

The tests share an operator with two replicas and a cluster, in the order of the file. What was
typed and what came of it is in build/transcripts/ansible.txt afterwards.
"""

import json
import time
from collections.abc import Callable, Iterator

import pytest

from image.operator import IMAGE, operator_archive
from testbed import lifecycle
from testbed.bed import TestBed
from tests.e2e.clusters import Cluster, tiny_cluster
from tests.e2e.traffic import Traffic
from tests.management.conftest import LABEL
from tests.management.databases import answers, fill, identities, seen
from tests.management.transcripts import Transcript
from tests.support.plays import Played, play
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]
SPACE = "matrixone-operator"
BEFORE = IMAGE.replace(":dev", ":0.0.9")
"""The same image under the name of an earlier version: none was released yet."""
Play = Callable[..., Played]


@pytest.fixture(scope="module")
def transcript() -> Transcript:
    """What is typed, for people to read."""
    return Transcript("ansible")


@pytest.fixture(scope="module")
def played(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory, transcript: Transcript
) -> Iterator[Play]:
    """Type ``ansible-playbook matrixorigin.matrixone.… -e …``."""
    home = tmp_path_factory.mktemp("ansible")
    lifecycle.load_image(str(operator_archive()), real_testbed.name)
    lifecycle.tag_image(IMAGE, BEFORE, real_testbed.name)

    def run(playbook: str, *variables: str) -> Played:
        options = [part for variable in variables for part in ("-e", variable)]
        begun = time.monotonic()
        done = play(playbook, real_testbed.kubeconfig, home, *options)
        command = ["ansible-playbook", f"matrixorigin.matrixone.{playbook}", *options]
        transcript(command, _shortened(done.output), time.monotonic() - begun)
        return done

    yield run
    run("uninstall", "confirm=true", "policy=keep")
    real_testbed.kubectl("delete", "namespace", SPACE, "--ignore-not-found")


def _shortened(output: str) -> str:
    """Leave out what says nothing: empty lines and rulers."""
    lines = [line.rstrip(" *") for line in output.splitlines()]
    return "\n".join(line for line in lines if line)


@pytest.fixture(scope="module")
def cluster(real_testbed: TestBed, played: Play, transcript: Transcript) -> Iterator[Cluster]:
    """A cluster of an operator in the version before, with two Pods."""
    done = played("operator", f"operator_image={BEFORE}", "operator_replicas=2")
    assert done.code == 0, done.output
    with real_testbed.namespace("databases") as space:
        made = Cluster(real_testbed, space, None)
        create(made, transcript)
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


def create(cluster: Cluster, transcript: Transcript) -> None:
    """Apply the example and wait for it."""
    begun = time.monotonic()
    said = cluster.kubectl("apply", "-f", "-", input=json.dumps(tiny_cluster()))
    cluster.await_ready()
    cluster.forget_entrance()
    transcript(["kubectl", "apply", "-f", "tiny-cluster.yaml"], said, time.monotonic() - begun)


def images(cluster: Cluster) -> set[str]:
    """What the operator's Pods run."""
    path = "jsonpath={.items[*].spec.containers[*].image}"
    return set(cluster.bed.kubectl("-n", SPACE, "get", "pods", "-l", LABEL, "-o", path).split())


def test_c09_one_yaml_is_a_whole_cluster(cluster: Cluster) -> None:
    assert answers(cluster, "select 1 + 1") == ((2,),)
    assert images(cluster) == {BEFORE}


def test_c19_an_upgrade_restarts_no_database(
    cluster: Cluster, played: Play, transcript: Transcript
) -> None:
    before = identities(cluster)
    with Traffic(cluster, "playbook-upgrade") as traffic:
        time.sleep(5)
        done = played("upgrade", f"operator_image={IMAGE}")
        assert done.code == 0, done.output
        eventually(lambda: images(cluster) == {IMAGE}, 60, "end of the old Pods")
        time.sleep(10)  # the new leader looks at everything
        traffic.stop()
        transcript.note(seen(traffic))
        traffic.require_nothing_lost(longest=5.0)
    assert identities(cluster) == before


def test_c20_going_back_is_another_upgrade(cluster: Cluster, played: Play) -> None:
    before = identities(cluster)
    for image in (BEFORE, IMAGE):
        done = played("upgrade", f"operator_image={image}")
        assert done.code == 0, done.output
        eventually(lambda image=image: images(cluster) == {image}, 60, "end of the old Pods")
    time.sleep(10)
    assert identities(cluster) == before


def test_c31_uninstalling_is_refused_or_keeps_databases(cluster: Cluster, played: Play) -> None:
    before = identities(cluster)
    refused = played("uninstall", "confirm=true")
    assert refused.code != 0
    assert images(cluster) == {IMAGE}

    kept = played("uninstall", "confirm=true", "policy=keep")
    assert kept.code == 0, kept.output
    eventually(lambda: not images(cluster), 60, "end of the operator")
    assert answers(cluster, "select 1") == ((1,),)
    assert played("operator", f"operator_image={IMAGE}", "operator_replicas=1").code == 0
    time.sleep(10)
    assert identities(cluster) == before


def test_c29_clusters_go_with_the_operator_and_come_back_with_their_rows(
    cluster: Cluster, played: Play, transcript: Transcript
) -> None:
    fill(cluster)
    begun = time.monotonic()
    done = played("uninstall", "confirm=true", "policy=cascade")
    assert done.code == 0, done.output
    assert time.monotonic() - begun < 300
    kinds = "pods,services"
    eventually(lambda: not cluster.get(kinds)["items"], 60, "end of the cluster")
    claims = cluster.get("pvc", "-l", "matrixorigin.io/component=LogSet")["items"]
    assert len(claims) >= 3
    assert {one["status"]["phase"] for one in claims} == {"Bound"}

    assert played("operator", f"operator_image={IMAGE}", "operator_replicas=1").code == 0
    create(cluster, transcript)
    assert answers(cluster, "select count(*) from kept.rows_seen", 60) == ((3,),)
