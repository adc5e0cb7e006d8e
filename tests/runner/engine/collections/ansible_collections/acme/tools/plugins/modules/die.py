#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends itself without a word."""

DOCUMENTATION = r"""
module: die
short_description: Ends itself without a word.
"""

import os
import signal

from ansible.module_utils.basic import AnsibleModule


def main():
    AnsibleModule(argument_spec={})
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
