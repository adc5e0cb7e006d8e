# SPDX-License-Identifier: Apache-2.0
"""Files that a report leaves behind, whatever goes wrong."""

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kubectl_matrixone import report
from kubectl_matrixone.errors import PluginError
from kubectl_matrixone.kubectl import Kubectl

CLUSTER = {"metadata": {"namespace": "shop", "name": "mo"}}
NOW = datetime(2026, 11, 27, 6, 0, tzinfo=UTC)
NAME = "matrixone-shop-mo-20261127T060000Z.zip"


def written(folder: Path, pages: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a report of one page."""
    monkeypatch.setattr(report, "_pages", lambda *_: iter([report.Page("a.txt", pages)]))
    return report.write(Kubectl(), CLUSTER, folder, NOW, lambda _page: None)


def full() -> str:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted() -> str:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("page", "error"), [(full, PluginError), (interrupted, KeyboardInterrupt)])
def test_an_unfinished_report_is_removed(
    page: Callable[[], str],
    error: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(error):
        written(tmp_path, page, monkeypatch)
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_that_name_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_text("of somebody else")
    with pytest.raises(PluginError, match="File exists"):
        written(tmp_path, lambda: "text", monkeypatch)
    assert (tmp_path / NAME).read_text() == "of somebody else"
