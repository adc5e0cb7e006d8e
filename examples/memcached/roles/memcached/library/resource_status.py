#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An Ansible module that writes the status of a custom resource, and nothing but the status."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.client import get_api_client
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.core import AnsibleK8SModule
from ansible_collections.kubernetes.core.plugins.module_utils.k8s.exceptions import CoreException

DOCUMENTATION = r"""
module: resource_status
short_description: Write the status of a custom resource
description:
  - Merges fields and conditions into the status subresource. Conditions of other types stay as they
    are, so that the role and the runner can report side by side.
  - Writes nothing when the status says all of it already.
author: [The memcached example]
extends_documentation_fragment: [kubernetes.core.k8s_auth_options]
options:
  resource:
    description:
      - The resource. Its C(apiVersion), C(kind), C(metadata.name) and C(metadata.namespace) are
        enough.
    type: dict
    required: true
  status:
    description: Fields of the status; a list replaces the list that is there.
    type: dict
    default: {}
  conditions:
    description: Conditions to set; each has C(type), C(status), C(reason) and C(message).
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- resource_status:
    resource:
      apiVersion: cache.example.com/v1alpha1
      kind: Memcached
      metadata: {name: memcached-sample, namespace: default}
    status: {nodes: [memcached-sample-1, memcached-sample-2]}
    conditions:
      - {type: Available, status: "True", reason: Reconciling, message: Two replicas are available}
"""

RETURN = r"""
result:
  description: The status after the write.
  type: dict
  returned: success
"""

ATTEMPTS = 5
"""How often a write is tried that collides with another one, the runner's own for example."""

_CONFLICT = 409


def merged(before: dict[str, Any], wanted: dict[str, Any], conditions: list[dict[str, Any]]) -> Any:
    """The status with fields and conditions put into it.

    A condition keeps its time of transition for as long as its status stays the same.

    Args:
        before: the status as it is.
        wanted: fields that replace those of the same name.
        conditions: conditions that replace those of the same type.
    """
    after = {**copy.deepcopy(before), **wanted}
    found = {item["type"]: item for item in after.get("conditions") or []}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for condition in conditions:
        old = found.get(condition["type"], {})
        # Templates of Ansible before 2.19 make booleans of the words.
        status = str(condition["status"])
        since = old.get("lastTransitionTime") if old.get("status") == status else now
        found[condition["type"]] = {
            **condition,
            "status": status,
            "lastTransitionTime": since or now,
        }
    if found:
        after["conditions"] = list(found.values())
    return after


def write(module: AnsibleK8SModule) -> tuple[bool, dict[str, Any]]:
    """Write the status unless it is there already.

    Returns:
        Whether it was written, and the status.

    Raises:
        CoreException: the cluster cannot be reached, or there is no such kind.
    """
    asked, wanted = module.params, module.params["resource"]
    client = get_api_client(module)
    resource = client.resource(wanted["kind"], wanted["apiVersion"])
    place = {name: wanted["metadata"][name] for name in ("name", "namespace")}
    for attempt in range(1, ATTEMPTS + 1):
        current = client.get(resource, **place).to_dict()
        before = current.get("status") or {}
        after = merged(before, asked["status"], asked["conditions"])
        if after == before or module.check_mode:
            return after != before, after
        body = {
            "apiVersion": wanted["apiVersion"],
            "kind": wanted["kind"],
            "metadata": {"resourceVersion": current["metadata"]["resourceVersion"]},
            "status": after,
        }
        try:
            resource.status.patch(body=body, content_type="application/merge-patch+json", **place)
        except Exception as error:
            if getattr(error, "status", None) != _CONFLICT or attempt == ATTEMPTS:
                raise
            continue
        return True, after
    raise AssertionError("the loop above ends by itself")


def main() -> None:
    """Run the module."""
    module = AnsibleK8SModule(
        module_class=AnsibleModule,
        argument_spec={
            **copy.deepcopy(AUTH_ARG_SPEC),
            "resource": {"type": "dict", "required": True},
            "status": {"type": "dict", "default": {}},
            "conditions": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    try:
        changed, status = write(module)
    except CoreException as error:
        module.fail_from_exception(error)
    module.exit_json(changed=changed, result=status)


if __name__ == "__main__":
    main()
