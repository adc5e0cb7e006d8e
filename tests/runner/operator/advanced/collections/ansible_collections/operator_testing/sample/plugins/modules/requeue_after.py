# SPDX-License-Identifier: Apache-2.0
"""Asks for another run of the object after a while."""

from ansible.module_utils.basic import AnsibleModule


def main():
    module = AnsibleModule(argument_spec={"time": {"type": "str", "required": True}})
    module.exit_json(period=module.params["time"])


if __name__ == "__main__":
    main()
