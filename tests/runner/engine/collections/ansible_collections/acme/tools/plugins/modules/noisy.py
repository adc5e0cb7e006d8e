#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints around its result, or instead of it."""

DOCUMENTATION = r"""
module: noisy
short_description: Prints around its result, or instead of it.
"""

import sys

from ansible.module_utils.basic import AnsibleModule


def main():
    spec = {"silent": {"type": "bool", "default": False}}
    module = AnsibleModule(argument_spec=spec)
    print("noise on stdout")
    sys.stderr.write("noise on stderr\n")
    if module.params["silent"]:
        sys.exit(0)
    module.exit_json(changed=False, answer=42)


if __name__ == "__main__":
    main()
