# SPDX-License-Identifier: Apache-2.0
"""The one kernel setting that test beds change: how many file watchers a user may have.

Linux allows 128; a test bed takes about ten, a real node ten more. The first test bed raises the
limit where it may, the last one to go puts the old value back.
"""

import os
from pathlib import Path

from testbed.places import state_root

_SETTING = Path("/proc/sys/fs/inotify/max_user_instances")
_WANTED = 2048


def _original() -> Path:
    return state_root() / ".max_user_instances"


def raise_limits() -> None:
    """Raise the limit when it is low and we are root; note what it was, first."""
    present = int(_SETTING.read_text())
    if present >= _WANTED or os.geteuid() != 0:
        return
    _original().write_text(f"{present}\n")
    _SETTING.write_text(f"{_WANTED}\n")


def restore_limits() -> None:
    """Restore the old value, unless it has been changed since."""
    if not _original().exists():
        return
    if int(_SETTING.read_text()) == _WANTED:
        _SETTING.write_text(_original().read_text())
    _original().unlink()
