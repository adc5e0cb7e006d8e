# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.read_back); see plugins/modules/read_back.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from ..module_utils.backup.program.reading_back import read_back
from ..module_utils.backup.verification.checks import Check, in_short
from ..module_utils.clients.sql import Entrance
from ..plugin_utils.backup.action import BackupAction

Json = dict[str, Any]
_LOGIN = ("host", "port", "user", "password", "certificates")


class ActionModule(BackupAction):
    """Read every table of a database and compare the answers to statements."""

    SPEC: ClassVar[Json] = {
        "login_host": {"type": "str", "required": True},
        "login_port": {"type": "int", "default": 6001},
        "login_user": {"type": "str", "required": True},
        "login_password": {"type": "str", "required": True, "no_log": True},
        "login_certificates": {"type": "str", "default": ""},
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
        entrance = Entrance(*(arguments[f"login_{name}"] for name in _LOGIN))
        wanted = [Check.of(check) for check in arguments["checks"]]
        progress = self.progress(arguments["timeout"])
        found = read_back(entrance, wanted, arguments["parallelism"], progress)
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
