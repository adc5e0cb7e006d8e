# SPDX-License-Identifier: Apache-2.0
"""`make demo` as a new user meets it: the real database on a real node, then nothing left."""

import gzip
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import testbed
from demo import backups, clusters, sql
from image.operator import operator_archive
from testbed import database
from testbed.images import recipes
from testbed.progress import silent
from tests.e2e.conftest import Command
from tests.support.places import ROOT
from tests.support.waiting import eventually
from tests.testbed import traces

pytestmark = pytest.mark.node

WRITTEN_SECONDS = 60.0
"""MatrixOne writes statistics every 15 s."""

OURS = (
    "matrixoneclusters,logsets,dnsets,cnsets,proxysets,"
    "statefulsets,deployments,services,configmaps,secrets,persistentvolumeclaims,"
    "poddisruptionbudgets,networkpolicies,backupjobs"
)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Build what the first demo on a machine builds, which takes longer than a command may."""
    recipes.matrixone(database.chosen(), silent)
    operator_archive()


def generations(bed: testbed.TestBed) -> dict[str, Any]:
    """Identity and spec revision of everything in the namespace, and the pods' restarts."""
    listed = json.loads(bed.kubectl("get", OURS, "-n", "default", "-o", "json"))["items"]
    found = {
        f"{item['kind']}/{item['metadata']['name']}": (
            item["metadata"]["uid"],
            item["metadata"].get("generation"),
            item.get("data"),
        )
        for item in listed
    }
    pods = json.loads(bed.kubectl("get", "pods", "-n", "default", "-o", "json"))["items"]
    for pod in pods:
        restarts = [status["restartCount"] for status in pod["status"]["containerStatuses"]]
        found[f"Pod/{pod['metadata']['name']}"] = (pod["metadata"]["uid"], restarts, None)
    return found


def test_demo_brings_a_database_up_changes_nothing_twice_and_leaves_nothing(
    command: Command, own_state: Path
) -> None:
    before = traces.system()

    first = command("make", "demo")

    assert f"MatrixOne {database.chosen().tag}" in first
    assert re.search(r"8\.0\.30-MatrixOne-v\d+\.\d+\.\d+", first)
    assert "2   from MatrixOne" in first
    assert "of the database's stage, the operator's own part:" in first
    bed = testbed.get("demo")
    made = generations(bed)
    assert "backup: Completed" in first

    second = command("make", "demo")

    assert "operator: runs already" in second
    assert "2   from MatrixOne" in second
    assert made == generations(bed)
    told_by_kubectl(bed)
    require_restored(bed, second)

    command("make", "demo-down")

    assert traces.none(traces.of(bed.state.identity, own_state))
    assert before == traces.system()


def test_demo_keeps_its_data_in_an_s3_server_if_asked_to(command: Command, own_state: Path) -> None:
    """The same database with its shared storage in a bucket: tables, log archives, statistics."""
    output = command("make", "demo", "S3=1")

    assert "2   from MatrixOne" in output
    assert "backup: Completed" in output
    bed, store = testbed.get("demo"), testbed.get_object_store("demo")
    assert f"S3 server at {store.endpoint}" in output
    folder = store.folder / "matrixone" / "mo"
    make_checkpoint(bed)
    eventually(
        lambda: {"data", "etl"} <= {path.name for path in folder.iterdir()},
        WRITTEN_SECONDS,
        "tables and statistics in the bucket",
        otherwise=lambda: sorted(path.name for path in folder.iterdir()),
    )
    assert (store.folder / backups.BUCKET / backups.JOB / "matrixone-backup.json").is_file()
    require_restored(bed, output)
    claims = json.loads(bed.kubectl("get", "pvc", "-n", "default", "-o", "json"))["items"]
    names = {one["metadata"]["name"] for one in claims}
    assert all(name.startswith(("mo-data-", "restored-data-")) for name in names), names

    command("make", "demo-down")

    assert traces.none(traces.of(bed.state.identity, own_state))


@pytest.mark.parametrize("kind", ["program", "image"])
def test_demo_runs_what_is_given_under_a_tag_of_its_own(
    command: Command, own_state: Path, tmp_path: Path, kind: str
) -> None:
    """And never turns a demo that runs into an upgrade."""
    present = database.chosen()
    tag = f"{present.tag.rpartition('.')[0]}.77"
    given: tuple[str, ...]
    if kind == "program":
        if present.archive:
            pytest.skip("MO_SERVICE is an image")
        given = (f"MO_SERVICE={present.provide()}", f"MO_VERSION={tag}")
    else:
        archive = recipes.matrixone(replace(present, tag=tag), silent)
        saved = tmp_path / "image.tar.gz"
        with gzip.open(saved, "wb", compresslevel=1) as file:
            file.write(archive.read_bytes())
        given = (f"MO_SERVICE={saved}",)

    output = command("make", "demo", *given, "BACKUP=0")

    assert "2   from MatrixOne" in output
    assert "backup: " not in output
    bed = testbed.get("demo")
    pods = json.loads(bed.kubectl("get", "pods", "-n", "default", "-o", "json"))["items"]
    images = {pod["spec"]["containers"][0]["image"] for pod in pods}
    assert images == {f"{database.REPOSITORY}:{tag}"}
    with pytest.raises(AssertionError, match=f"the demo runs MatrixOne {tag}: `make demo-down`"):
        command("make", "demo")

    command("make", "demo-down")

    assert traces.none(traces.of(bed.state.identity, own_state))


def require_restored(bed: testbed.TestBed, output: str) -> None:
    """Follow the demo's last lines: a second cluster out of the backup has the rows of the first.

    Args:
        bed: where the demo runs.
        output: of the demo.
    """
    commands = re.findall(r"^  kubectl (apply|wait) (.*)$", output, re.MULTILINE)
    assert [verb for verb, _ in commands] == ["apply", "wait"]
    for verb, arguments in commands:
        bed.kubectl("-n", "default", verb, *arguments.split())
    where = replace(
        clusters.endpoint(clusters.TestBedCluster(bed)),
        host=bed.kubectl(
            *("-n", "default", "get", "svc", f"{backups.RESTORED}-proxy"),
            *("-o", "jsonpath={.spec.clusterIP}"),
        ),
    )
    with sql.connect(where, time.monotonic() + WRITTEN_SECONDS) as session:
        rows = sql.run(session, "select id, text from demo.greetings order by id")
    assert "2   from MatrixOne" in rows
    bed.kubectl("-n", "default", "delete", "mo", backups.RESTORED, "--timeout=240s")


def make_checkpoint(bed: testbed.TestBed) -> None:
    """Have tables written now; by itself, a database with so few rows takes minutes."""
    deadline = time.monotonic() + WRITTEN_SECONDS
    with sql.connect(clusters.endpoint(clusters.TestBedCluster(bed)), deadline) as session:
        sql.run(session, "select mo_ctl('dn', 'checkpoint', '')")


def told_by_kubectl(bed: testbed.TestBed) -> None:
    """What `get`, `wait`, `describe` and the events say is what is there."""
    bed.kubectl("wait", "mo/mo", "-n", "default", "--for=condition=Ready", "--timeout=10s")
    columns = bed.kubectl("get", "mo", "mo", "-n", "default", "--no-headers").split()
    assert columns[:7] == ["mo", "True", "AllSetsReady", "3/3", "1/1", "1/1", "1/1"]
    listed = bed.kubectl("get", "matrixone", "-A", "-o", "name").split()
    assert sorted(name.partition(".")[0] for name in listed) == [
        "cnset",
        "dnset",
        "logset",
        "matrixonecluster",
        "proxyset",
    ]
    described = bed.kubectl("describe", "mo", "mo", "-n", "default")
    assert "all components serve" in described


def test_a_demo_interrupted_at_any_moment_can_go_on_or_be_removed(
    command: Command, own_state: Path
) -> None:
    for moment in (1.0, 4.0, 9.0, "backup: "):
        process = subprocess.Popen(
            ["make", "demo"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        if isinstance(moment, str):
            assert any(moment in line for line in process.stdout or ())
        else:
            time.sleep(moment)
        os.killpg(process.pid, signal.SIGINT)  # Ctrl-C reaches the whole foreground group
        output, _ = process.communicate(timeout=60)
        assert "Traceback" not in output

    assert "2   from MatrixOne" in command("make", "demo")
    identity = testbed.get("demo").state.identity

    command("make", "demo-down")

    assert traces.none(traces.of(identity, own_state))
