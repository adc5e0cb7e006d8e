# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.read_back); see plugins/modules/read_back.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from ..module_utils.backup.program.reading_back import read_back
from ..module_utils.backup.verification.checks import Check, in_short
from ..module_utils.clients.login_options import LOGIN, entrance_of
from ..plugin_utils.backup.action import BackupAction

Json = dict[str, Any]


class ActionModule(BackupAction):
    """Read every table of a database and compare the answers to statements."""

    SPEC: ClassVar[Json] = {
        **LOGIN,
        "checks": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "options": {
                "name": {"type": "str"},
                "sql": {"type": "str", "required": True},
                "rows": {"type": "list", "elements": "list"},
            },
        },
        "timeout": {"type": "int", "default": 3600},
        "parallelism": {"type": "int", "default": 2},
    }

    def act(self, arguments: Json, folder: Path) -> Json:
        """Read, and fail if anything is missing or differs."""
        del folder
        wanted = [Check.of(check) for check in arguments["checks"]]
        progress = self.progress(arguments["timeout"])
        found = read_back(entrance_of(arguments), wanted, arguments["parallelism"], progress)
        problems = found.problems
        return {
            "changed": False,
            "failed": bool(problems),
            "msg": in_short(problems),
            "tables": found.tables,
            "rows": found.rows,
            "bytes": found.bytes,
            "problems": problems,
        }
