# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An action that keeps what it is given."""

from ansible.plugins.action import ActionBase
from ansible_collections.acme.tools.plugins.module_utils.keeping import look_and_keep


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        return super().run(tmp, task_vars) | {"msg": look_and_keep(str(self._task.args["what"]))}
