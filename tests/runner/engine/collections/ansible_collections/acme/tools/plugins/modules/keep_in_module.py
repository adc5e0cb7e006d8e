#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A module that keeps what it is given."""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.acme.tools.plugins.module_utils.keeping import look_and_keep


def main():
    module = AnsibleModule({"what": {"type": "str", "required": True}})
    module.exit_json(msg=look_and_keep(module.params["what"]))


if __name__ == "__main__":
    main()
