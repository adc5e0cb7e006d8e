# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what it is given wherever a plugin can keep something, and returns what it finds there."""

import functools
import os
import xml.dom

import yaml
from ansible.plugins.action import ActionBase

LISTED = []
MAPPED = {"inner": {}}
DEEP = {1: {2: {3: {4: []}}}}
bound = None


@functools.lru_cache
def remembered(key):
    return []


def with_default(what, kept=[]):  # noqa: B006
    kept.append(what)
    return kept[:-1]


class ActionModule(ActionBase):
    seen = set()
    last = None

    def run(self, tmp=None, task_vars=None):
        global bound
        what = str(self._task.args["what"])
        found = {
            "listed": list(LISTED),
            "mapped": list(MAPPED["inner"]),
            "deep": list(DEEP[1][2][3][4]),
            "bound": bound,
            "new": globals().get("brand_new"),
            "remembered": list(remembered("x")),
            "attribute": getattr(with_default, "attribute", None),
            "class": [self.last, *self.seen],
            "default": with_default(what),
            "library": getattr(yaml, "acme_hoard", None),
            "standard library": getattr(xml.dom, "acme_hoard", None),
            "environment": os.environ.get("ACME_HOARD"),
            "folder": os.getcwd(),
            "umask": os.umask(0o77),
        }
        LISTED.append(what)
        MAPPED["inner"][what] = 1
        DEEP[1][2][3][4].append(what)
        yaml.acme_hoard = xml.dom.acme_hoard = bound = what
        globals()["brand_new"] = what
        remembered("x").append(what)
        with_default.attribute = what
        type(self).last = what
        self.seen.add(what)
        os.environ["ACME_HOARD"] = what
        return super().run(tmp, task_vars) | {"found": found}
