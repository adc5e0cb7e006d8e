# SPDX-License-Identifier: Apache-2.0
"""The commands that the project's README names, on test beds of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import testbed
from demo import memcached
from testbed.bed import TestBed
from tests.support.waiting import eventually

pytestmark = pytest.mark.api


def test_the_demo_tells_its_story_and_leaves_nothing(own_state: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "demo.memcached"],
        cwd=memcached.PROJECT.parents[1],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    for line in (
        "3 pods are in status.nodes",
        "5 pods are in status.nodes",
        "the Deployment is back at 5",
        "Available=True Reconciling: Deployment memcached-sample has 5 of 5 replicas available",
        "the resource is deleted",
        "Memcached memcached-sample is being deleted",
        "the Deployment is garbage-collected",
        "its pods are deleted",
    ):
        assert line in told.stdout
    assert testbed.names() == []
    assert own_state.parent.exists()


def test_what_make_brings_make_takes_away(own_state: Path) -> None:
    assert own_state
    bed = testbed.up("make", nodes="fake")

    def make(*arguments: str) -> None:
        done = subprocess.run(
            ["make", *arguments],
            cwd=memcached.PROJECT,
            env={
                **os.environ,
                "KUBECONFIG": str(bed.kubeconfig),
                "PATH": f"{bed.kubectl_path.parent}:{os.environ['PATH']}",
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    make("install")
    assert definitions(bed) == ["memcacheds.cache.example.com"]
    make("uninstall")
    eventually(lambda: definitions(bed) == [])
    make("deploy", "IMG=registry.example.com/caches:v1")
    manager = deployment(bed)
    assert manager
    container = manager["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "registry.example.com/caches:v1"
    make("undeploy")
    eventually(lambda: definitions(bed) == [] and deployment(bed) is None)
    eventually(lambda: memcached.SYSTEM not in bed.kubectl("get", "namespaces"), seconds=120)


def definitions(bed: TestBed) -> list[str]:
    names = bed.kubectl("get", "crd", "-o", "jsonpath={.items[*].metadata.name}")
    return names.split()


def deployment(bed: TestBed) -> dict | None:
    name = f"deployment/{memcached.ACCOUNT}"
    text = bed.kubectl("-n", memcached.SYSTEM, "get", name, "--ignore-not-found", "-o", "json")
    return json.loads(text) if text else None
