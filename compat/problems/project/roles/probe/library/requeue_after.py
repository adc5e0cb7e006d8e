# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks for another run of the object after a while."""

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Return the time under the key that runners read."""
    module = AnsibleModule(argument_spec={"time": {"type": "str", "required": True}})
    module.exit_json(period=module.params["time"])


if __name__ == "__main__":
    main()
