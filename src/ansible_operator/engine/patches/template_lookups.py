# SPDX-License-Identifier: Apache-2.0
"""The lookup ``template`` copies all variables for each file, because the file may change them.

Ansible's texts are objects with a state, so that a copy takes longer than most templates.
"""

from ansible.plugins.lookup import template

from ansible_operator.engine.patches.copies import deep_copy


def install() -> None:
    """Have the lookup copy only what can be changed."""
    vars(template)["deepcopy"] = deep_copy
