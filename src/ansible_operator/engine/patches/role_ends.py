# SPDX-License-Identifier: Apache-2.0
"""The implicit tasks behind roles, for which Ansible computes variables that nobody reads.

Strategies compute the variables of each task before they look at what it is. The one behind the
tasks of a role only notes that the role is complete, under no condition.
"""

from typing import Any

from ansible.vars.manager import VariableManager


def install() -> None:
    """Have the variables of such tasks be none."""
    stock = VariableManager.get_vars

    def get_vars(self: Any, *arguments: Any, **options: Any) -> Any:
        task = options.get("task")
        if task is not None and _ends_role(task):
            return {}
        return stock(self, *arguments, **options)

    VariableManager.get_vars = get_vars


def _ends_role(task: Any) -> bool:
    if not task.implicit or task.args.get("_raw_params") != "role_complete":
        return False
    # The strategy "free" templates these, and they are inherited.
    return isinstance(task.throttle, int) and isinstance(task.run_once, bool)
