# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks through the memory of its process for a word."""

import gc
import os

from ansible.plugins.action import ActionBase
from ansible.utils.collection_loader import AnsibleCollectionConfig


def strings(thing, deep=0):
    for one in gc.get_referents(thing):
        if isinstance(one, str):
            yield one
        elif isinstance(one, bytes):
            yield one.decode(errors="replace")
        elif deep < 5 and isinstance(one, (dict, tuple)) and not gc.is_tracked(one):
            yield from strings(one, deep + 1)


def places(word):
    """Describe what holds the word, and what holds that."""
    gc.unfreeze()
    gc.collect()
    holders = []
    for one in gc.get_objects():
        for text in strings(one):
            if word in text:
                holders.append(one)
                break
    found = []
    for holder in holders:
        owners = [type(one).__name__ for one in gc.get_referrers(holder) if one is not holders]
        found.append(f"{type(holder).__name__} {str(holder)[:300]} in {owners}")
    return found


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        backwards = str(self._task.args["backwards"])
        found = places(backwards[::-1]) if backwards else []
        beside = [os.fsdecode(path) for path in AnsibleCollectionConfig.playbook_paths]
        return super().run(tmp, task_vars) | {"found": found, "places": beside}
