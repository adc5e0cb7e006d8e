#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers its text and what it sees around it."""

DOCUMENTATION = r"""
module: echo
short_description: Answers its text and what it sees around it.
"""

import os
import sys

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.acme.tools.plugins.module_utils.words import shout


def main():
    spec = {"text": {"type": "str", "default": ""}, "secret": {"type": "str", "no_log": True}}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    module.warn("echo warns")
    module.exit_json(
        changed=not module.check_mode,
        text=shout(module.params["text"]),
        cwd=os.getcwd(),
        pid=os.getpid(),
        variable=os.environ.get("ACME", ""),
        executable=sys.executable,
        warm="ansible.executor.task_executor" in sys.modules,
        scratch=os.path.isdir(module.tmpdir),
    )


if __name__ == "__main__":
    main()
