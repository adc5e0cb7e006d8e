#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raises an exception."""

DOCUMENTATION = r"""
module: crash
short_description: Raises an exception.
"""

from ansible.module_utils.basic import AnsibleModule


def main():
    AnsibleModule(argument_spec={})
    raise RuntimeError("boom in the module")


if __name__ == "__main__":
    main()
