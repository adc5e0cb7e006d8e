# SPDX-License-Identifier: Apache-2.0
"""Deleting a set whose log service the account may not read."""

import json
import re
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.support import resources as r
from tests.support.namespaces import Namespace
from tests.support.operator_rights import account
from tests.support.plays import Played, play

pytestmark = pytest.mark.api


def _delete(kubeconfig: Path, folder: Path, resource: r.Json, **given: object) -> Played:
    """Play the role as an operator does for a resource that is being deleted."""
    included = {"ansible.builtin.include_role": {"name": "matrixorigin.matrixone.cnset"}}
    variables = {"cnset_resource": resource, "cnset_state": "absent", "cnset_wait": False, **given}
    played = {
        "hosts": "localhost",
        "gather_facts": False,
        "tasks": [{**included, "vars": variables}],
    }
    playbook = folder / "delete.yml"
    playbook.write_text(json.dumps([played]))
    return play(str(playbook), kubeconfig, folder / "ansible")


@pytest.fixture
def doomed(installed_testbed: TestBed, fake_namespace: str) -> r.Json:
    """A set that drains, and names a log service of another namespace."""
    space = Namespace(installed_testbed, fake_namespace)
    deps = {"logSet": {"metadata": {"name": "mo", "namespace": "default"}}}
    made = r.cnset(deps, scalingConfig={"storeDrainEnabled": True})
    made["metadata"] = {"name": "doomed"}
    space.apply(made)
    return space.get("cnset", "doomed")


def test_a_log_service_that_may_not_be_read_holds_up_no_deletion(
    doomed: r.Json, installed_testbed: TestBed, fake_namespace: str, tmp_path: Path
) -> None:
    kubeconfig = account(installed_testbed, fake_namespace, tmp_path / "kubeconfig")

    done = _delete(kubeconfig, tmp_path, doomed)

    assert done.code == 0, done.output
    assert done.counts["failed"] == 0
    assert done.counts["ignored"] == 0


def test_an_api_server_that_does_not_answer_is_an_error(
    doomed: r.Json, installed_testbed: TestBed, tmp_path: Path
) -> None:
    """The deletion is tried again then, instead of going on without the drain."""
    kubeconfig = tmp_path / "kubeconfig"
    text = installed_testbed.kubeconfig.read_text()
    kubeconfig.write_text(text.replace(installed_testbed.server, "https://127.0.0.1:1"))

    done = _delete(kubeconfig, tmp_path, doomed, cnset_manage_status=False)

    *_, last = re.findall(r"TASK \[.* : (.*)\]", done.output)
    assert (last, done.counts["failed"]) == ("Observe the log service", 1), done.output
