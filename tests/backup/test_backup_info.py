# SPDX-License-Identifier: Apache-2.0
"""The module backup_info, whose name was backups."""

from pathlib import Path

import pytest
import yaml

from tests.backup.program.plays import played
from tests.support.places import ROOT


@pytest.mark.parametrize("module", ["backup_info", "backups"])
def test_it_is_found_by_both_names(module: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    location = {"file_system": {"path": str(place)}}
    found = played(tmp_path, {"listed": {module: {"location": location}}}, check=True)
    assert found["listed"]["backups"] == []
    assert found["listed"]["changed"] is False


def test_both_names_lead_to_one_module() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text(encoding="utf-8"))
    routing = runtime["plugin_routing"]
    assert routing["action"] == routing["modules"]
    assert "backup_info" in runtime["action_groups"]["backups"]
