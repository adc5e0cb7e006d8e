# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.database_user); see plugins/modules."""

from __future__ import annotations

from typing import ClassVar

from ..module_utils.user.reconciler import Reconciler
from ..plugin_utils.kubernetes.database_object import DatabaseObjectAction


class ActionModule(DatabaseObjectAction):
    """Create, change or drop the SQL user of a DatabaseUser."""

    RESULT: ClassVar[str] = "user"
    RECONCILER: ClassVar[type[Reconciler]] = Reconciler
