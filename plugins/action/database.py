# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.database); see plugins/modules."""

from __future__ import annotations

from typing import ClassVar

from ..module_utils.database.reconciler import Reconciler
from ..plugin_utils.kubernetes.database_object import DatabaseObjectAction


class ActionModule(DatabaseObjectAction):
    """Create or drop the database of a Database."""

    RESULT: ClassVar[str] = "database"
    RECONCILER: ClassVar[type[Reconciler]] = Reconciler
