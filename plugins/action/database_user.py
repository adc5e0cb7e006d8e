# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.database_user); see plugins/modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ..module_utils.clients.kubernetes.applying import Writer
from ..module_utils.user.reconciler import Reconciler
from ..plugin_utils.kubernetes.database_object import DatabaseObjectAction


class ActionModule(DatabaseObjectAction):
    """Create, change or drop the SQL user of a DatabaseUser."""

    RESULT: ClassVar[str] = "user"

    def reconciler(self, writer: Writer, arguments: Mapping[str, Any]) -> Reconciler:
        """Return what asks the database."""
        return Reconciler(
            writer=writer,
            resource=arguments["resource"],
            cluster=arguments["cluster"],
            service=arguments["service"],
            seconds=arguments["timeout"],
        )
