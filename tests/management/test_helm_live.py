# SPDX-License-Identifier: Apache-2.0
"""The management guide, what takes a living operator: chart, image and database on a real node.

The tests share a release with two replicas and a cluster, in the order of the file. What helm was
told and what it said is in build/transcripts/helm.txt afterwards.
"""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from image.operator import IMAGE, operator_archive
from testbed import database, lifecycle
from testbed.bed import KubectlError, TestBed
from tests.charts.releases import CLUSTER, OPERATOR, Helm, HelmError, earlier
from tests.e2e.clusters import Cluster
from tests.e2e.traffic import Traffic
from tests.management.conftest import RELEASE, Management
from tests.management.databases import answers, fill, identities, seen
from tests.management.transcripts import Transcript
from tests.support.waiting import eventually

pytestmark = [pytest.mark.node, pytest.mark.scenario]
_TAG = IMAGE.rpartition(":")[2]
_VALUES = ("--set", f"image.tag={_TAG},replicaCount=2")
_READY = "--timeout=180s"


@pytest.fixture(scope="module")
def transcript() -> Transcript:
    """What is typed, for people to read."""
    return Transcript("helm")


@pytest.fixture(scope="module")
def release(
    real_testbed: TestBed, tmp_path_factory: pytest.TempPathFactory, transcript: Transcript
) -> Iterator[Management]:
    """The version before, installed as a user does it, with two Pods."""
    lifecycle.load_image(str(operator_archive()), real_testbed.name)
    real_testbed.kubectl("delete", "crd", "-l", "app.kubernetes.io/part-of=matrixone")
    folder = tmp_path_factory.mktemp("helm")
    with real_testbed.namespace("operator") as space:
        real_testbed.kubectl(
            "label", "namespace", space, "pod-security.kubernetes.io/enforce=restricted"
        )
        program = Helm(folder, real_testbed.kubeconfig, transcript)
        made = Management(real_testbed, space, program, folder)
        made.install(earlier(folder), *_VALUES, _READY)
        try:
            yield made
        finally:
            made.helm("uninstall", RELEASE, "--no-hooks", "--ignore-not-found", "--wait")


@pytest.fixture(scope="module")
def cluster(release: Management) -> Iterator[Cluster]:
    """A cluster that the chart for clusters has made."""
    with release.bed.namespace("databases") as space:
        made = Cluster(release.bed, space, None)
        helm(release, made, "install")
        made.await_ready()
        yield made
        made.kubectl("delete", "mo", "--all", "--timeout=240s")


def helm(release: Management, cluster: Cluster, command: str, *arguments: str) -> str:
    """Type a command about the release of the cluster."""
    values = ("-f", str(CLUSTER / "ci" / "tiny-values.yaml"))
    chart = (str(CLUSTER), *values, "--set-string", f"spec.version={database.chosen().tag}")
    given = () if command == "uninstall" else chart
    return release.program(command, "mo", *given, "-n", cluster.namespace, *arguments)


def leader(release: Management) -> str:
    """The Pod that has the lease."""
    return str(release.get("lease", RELEASE)["spec"].get("holderIdentity") or "").split("_")[0]


def test_c09_one_yaml_is_a_whole_cluster(release: Management, cluster: Cluster) -> None:
    assert answers(cluster, "select 1 + 1") == ((2,),)
    cluster.kubectl("wait", "mo/mo", "--for=condition=Synced", "--timeout=60s")


def test_the_release_passes_its_own_test(release: Management) -> None:
    """`helm test` finds the kinds served and the metrics answered, out of a Pod of its own."""
    assert "Phase:          Succeeded" in release.helm("test", RELEASE)


def test_c17_an_upgrade_restarts_no_database(
    release: Management, cluster: Cluster, transcript: Transcript
) -> None:
    """From the version before to this one, with two replicas, under SQL traffic."""
    before = identities(cluster)
    pods = set(release.pods())
    ready: list[int] = []

    with Traffic(cluster, "chart-upgrade") as traffic:
        time.sleep(5)
        release.upgrade(OPERATOR, *_VALUES, _READY)
        ready.append(release.get("deploy", RELEASE)["status"]["readyReplicas"])
        time.sleep(10)  # the new leader looks at everything
        traffic.stop()
        transcript.note(seen(traffic))
        traffic.require_nothing_lost(longest=5.0)

    assert ready == [2]
    assert not pods & set(release.pods())
    assert identities(cluster) == before


def test_c23_the_second_replica_carries_on(
    release: Management, cluster: Cluster, transcript: Transcript
) -> None:
    first = leader(release)
    assert first in {one["metadata"]["name"] for one in release.pods().values()}

    release.kubectl("delete", "pod", first, "--grace-period=0", "--force")
    begun = time.monotonic()
    eventually(lambda: leader(release) not in {"", first}, 30, "new leader", pause=0.3)
    took = time.monotonic() - begun
    transcript.note(f"a new leader {took:.1f} s after the first was killed")

    cluster.kubectl("label", "mo", "mo", "touched=yes")
    cluster.change("proxy/replicas", 2)
    eventually(
        lambda: cluster.get("deploy", "mo-proxy")["spec"]["replicas"] == 2, 60, "second proxy"
    )
    cluster.change("proxy/replicas", 1)
    eventually(lambda: len(cluster.pods("ProxySet")) == 1, 90, "end of the second proxy")
    cluster.await_ready()


def shares(release: Management) -> dict[str, int]:
    """How many shards each Pod has."""
    leases = release.get("leases", "-l", "ansible-operator/election-part=shard")["items"]
    holders = (one["spec"].get("holderIdentity") for one in leases)
    return dict(Counter(holder.split("_")[0] for holder in holders if holder))


def test_pods_share_the_objects_and_no_longer(
    release: Management, cluster: Cluster, transcript: Transcript
) -> None:
    """From a leader to eight shards and back, with a killed Pod between, under SQL traffic."""
    before = identities(cluster)
    with Traffic(cluster, "chart-shards") as traffic:
        release.upgrade(OPERATOR, *_VALUES, "--set", "leaderElection.shards=8", _READY)
        eventually(lambda: sorted(shares(release).values()) == [4, 4], 60, "equal shares")
        assert shares(release).keys() == {
            one["metadata"]["name"] for one in release.pods().values()
        }
        cluster.change("proxy/replicas", 2)
        eventually(lambda: len(cluster.pods("ProxySet")) == 2, 90, "second proxy")
        killed = next(iter(shares(release)))
        release.kubectl("delete", "pod", killed, "--grace-period=0", "--force")
        cluster.change("cnGroups/0/replicas", 2)
        eventually(lambda: len(cluster.pods("CNSet")) == 2, 90, "second compute node")
        eventually(
            lambda: sorted(shares(release).values()) == [4, 4] and killed not in shares(release),
            90,
            "shares of the next Pod",
        )
        release.upgrade(OPERATOR, *_VALUES, _READY)
        names = {one["metadata"]["name"] for one in release.pods().values()}
        eventually(lambda: leader(release) in names, 60, "a single leader")
        traffic.stop()
        transcript.note(seen(traffic))
        traffic.require_nothing_lost(longest=5.0)
    assert before.items() <= identities(cluster).items(), "nothing was restarted"
    cluster.change("proxy/replicas", 1)
    cluster.change("cnGroups/0/replicas", 1)
    for kind in ("ProxySet", "CNSet"):
        eventually(lambda kind=kind: len(cluster.pods(kind)) == 1, 120, f"one Pod of {kind}")
    cluster.await_ready()


def test_c20_rollback_leaves_databases_alone(release: Management, cluster: Cluster) -> None:
    before = identities(cluster)
    release.helm("rollback", RELEASE, "1", "--wait", _READY)
    assert release.program.list(release.space)[0]["app_version"] == "0.0.9"
    release.upgrade(OPERATOR, *_VALUES, _READY)
    time.sleep(10)
    assert identities(cluster) == before


def test_c08_an_outage_of_the_operator_harms_no_database(
    release: Management, cluster: Cluster
) -> None:
    before = identities(cluster)
    release.kubectl("scale", f"deploy/{RELEASE}", "--replicas=0")
    eventually(lambda: not release.pods(), 60, "end of the operator")

    assert answers(cluster, "select 1") == ((1,),)
    # Webhooks are ignored while nobody answers: what CEL checks is checked, what is right is taken.
    with pytest.raises(KubectlError, match=r"spec\.proxy\.replicas"):
        cluster.change("proxy/replicas", -1)
    cluster.kubectl("annotate", "mo", "mo", "written=meanwhile")
    cluster.kubectl("create", "configmap", "other")

    release.kubectl("scale", f"deploy/{RELEASE}", "--replicas=2")
    release.kubectl("wait", f"deploy/{RELEASE}", "--for=condition=Available", _READY)
    eventually(lambda: bool(leader(release)), 60, "leader")
    assert identities(cluster) == before


def test_c30_uninstalling_is_refused_while_there_are_clusters(
    release: Management, cluster: Cluster
) -> None:
    begun = time.monotonic()
    with pytest.raises(HelmError) as refused:
        release.helm("uninstall", RELEASE)
    assert time.monotonic() - begun < 60
    message = str(refused.value)
    revision = release.get("secrets", "-l", f"name={RELEASE},status=uninstalling")["items"][0]
    number = revision["metadata"]["labels"]["version"]
    assert f"MatrixOneCluster {cluster.namespace}/mo" in message
    assert f"helm rollback -n {release.space} {RELEASE} {number}" in message

    release.helm("rollback", RELEASE, number, "--wait", _READY)
    assert release.program.list(release.space)[0]["status"] == "deployed"
    assert answers(cluster, "select 1") == ((1,),)


def test_c30_keep_removes_the_operator_only(release: Management, cluster: Cluster) -> None:
    before = identities(cluster)
    release.helm("uninstall", RELEASE, "--no-hooks", "--wait", "--timeout=120s")
    assert release.pods() == {}
    assert answers(cluster, "select 1") == ((1,),)

    release.install(OPERATOR, *_VALUES, "--set", "uninstallPolicy=cascade", _READY)
    cluster.kubectl("annotate", "mo", "mo", "written=again", "--overwrite")
    eventually(lambda: bool(leader(release)), 60, "leader")
    time.sleep(10)
    assert identities(cluster) == before


def test_c29_clusters_go_with_the_operator_and_come_back_with_their_rows(
    release: Management, cluster: Cluster
) -> None:
    """The release of the test before says `uninstallPolicy: cascade`."""
    fill(cluster)
    begun = time.monotonic()
    release.helm("uninstall", RELEASE, "--wait", "--timeout=300s")
    assert time.monotonic() - begun < 300
    eventually(lambda: not cluster.get("pods,services,mo")["items"], 60, "end of the cluster")
    claims = cluster.get("pvc", "-l", "matrixorigin.io/component=LogSet")["items"]
    assert len(claims) >= 3
    assert {one["status"]["phase"] for one in claims} == {"Bound"}

    release.install(OPERATOR, *_VALUES, _READY)
    helm(release, cluster, "upgrade")
    cluster.await_ready()
    cluster.forget_entrance()
    assert answers(cluster, "select count(*) from kept.rows_seen", 60) == ((3,),)
