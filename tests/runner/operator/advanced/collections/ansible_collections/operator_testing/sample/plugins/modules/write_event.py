# SPDX-License-Identifier: Apache-2.0
"""Posts an Event without apiVersion and kind, as event modules of operator projects do."""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_testing.sample.plugins.module_utils.play_client import resources


def main():
    text = {"type": "str", "required": True}
    spec = {"name": text, "namespace": text, "reason": text, "message": text}
    module = AnsibleModule(argument_spec={**spec, "involved": {"type": "dict", "required": True}})
    given = module.params
    kinds = resources()
    involved = given["involved"]
    about = kinds.get(api_version=involved["apiVersion"], kind=involved["kind"])
    found = about.get(name=involved["name"], namespace=involved["namespace"])
    involved = {**involved, "uid": found.metadata.uid}
    event = {
        "metadata": {"name": given["name"], "namespace": given["namespace"]},
        "type": "Normal",
        "reason": given["reason"],
        "message": given["message"],
        "involvedObject": involved,
        "source": {"component": "sample"},
        "count": 1,
    }
    kinds.get(api_version="v1", kind="Event").create(body=event, namespace=given["namespace"])
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
