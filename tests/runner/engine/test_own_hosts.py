# SPDX-License-Identifier: Apache-2.0
"""The generated inventory of a run, without Ansible's plugin that would read it."""

from pathlib import Path
from typing import Any

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader

from ansible_operator.engine import rundir
from ansible_operator.engine.patches.own_hosts import KnownFile, OwnHosts


def content(inventory: Any) -> dict[str, Any]:
    """Hosts with their variables, and which groups they are in."""
    hosts = {host.name: host.vars for host in inventory.get_hosts()}
    return {"hosts": hosts, "groups": inventory.get_groups_dict()}


def known_hosts(folder: Path) -> OwnHosts:
    known = KnownFile(rundir.hosts_file(), rundir.LOCALHOST, rundir.host_variables())
    return OwnHosts(known, DataLoader(), [str(folder)])


@pytest.mark.parametrize("folder", ["/opt/venv", '/opt/of "mine"', "/opt/it's #1"])
def test_the_known_file_says_what_the_plugin_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", folder)
    (tmp_path / "hosts").write_text(rundir.hosts_file())
    found = content(known_hosts(tmp_path))

    assert found == content(InventoryManager(loader=DataLoader(), sources=[str(tmp_path)]))
    python = found["hosts"]["localhost"]["ansible_python_interpreter"]
    assert python == f"{folder}/bin/python3"
    assert found["hosts"]["localhost"]["inventory_dir"] == str(tmp_path)


def test_any_other_file_is_left_to_the_plugins(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(rundir.hosts_file() + "other colour=blue\n")
    assert content(known_hosts(tmp_path))["hosts"]["other"]["colour"] == "blue"
