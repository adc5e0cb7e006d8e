#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.acme_help import WHO


def main():
    AnsibleModule(argument_spec={}).exit_json(changed=False, who=WHO)


if __name__ == "__main__":
    main()
