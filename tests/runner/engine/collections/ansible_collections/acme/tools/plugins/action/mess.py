# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes the process that it runs in, and tells about it."""

import os

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        before = {"cwd": os.getcwd(), "acme": os.environ.get("ACME_MESS", "")}
        if self._task.args.get("exit"):
            raise SystemExit(3)
        os.chdir("/")
        os.environ["ACME_MESS"] = "left behind"
        print("printed by an action")
        task_vars["ansible_facts"]["leaked"] = True
        task_vars.get("given", {}).setdefault("deep", {})["leaked"] = True
        return result | before | {"pid": os.getpid(), "umask": os.umask(os.umask(0o22))}
