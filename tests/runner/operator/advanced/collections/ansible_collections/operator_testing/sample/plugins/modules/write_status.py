# SPDX-License-Identifier: Apache-2.0
"""Writes a custom resource's status the way status modules of operator projects do.

GET, merge keys and conditions, PATCH of the ``status`` subresource with the whole object.
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_testing.sample.plugins.module_utils.play_client import resources


def merged(conditions, wanted):
    """Conditions by type; one is replaced only if more than its time differs."""
    kept = {item["type"]: item for item in conditions}
    for item in wanted:
        old = dict(kept.get(item["type"], {}), lastTransitionTime=None)
        if old != dict(item, lastTransitionTime=None):
            kept[item["type"]] = item
    return list(kept.values())


def main():
    text = {"type": "str", "required": True}
    module = AnsibleModule(
        argument_spec={
            "api_version": text,
            "kind": text,
            "name": text,
            "namespace": text,
            "status": {"type": "dict", "default": {}},
            "conditions": {"type": "list", "elements": "dict", "default": []},
        }
    )
    given = module.params
    resource = resources().get(api_version=given["api_version"], kind=given["kind"])
    found = resource.get(name=given["name"], namespace=given["namespace"]).to_dict()
    before = found.get("status") or {}
    after = {**before, **given["status"]}
    after["conditions"] = merged(before.get("conditions") or [], given["conditions"])
    if after == before:
        module.exit_json(changed=False)
    written = resource.status.patch(
        name=given["name"],
        namespace=given["namespace"],
        body={**found, "status": after},
        content_type="application/merge-patch+json",
    )
    module.exit_json(changed=True, result=written.to_dict()["status"])


if __name__ == "__main__":
    main()
