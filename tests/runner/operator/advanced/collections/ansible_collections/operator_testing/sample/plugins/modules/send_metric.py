# SPDX-License-Identifier: Apache-2.0
"""Reports a metric to the runner, by the same request as metric modules of operator projects."""

import json
import urllib.error
import urllib.request

from ansible.module_utils.basic import AnsibleModule


def main():
    kinds = {name: {"type": "dict"} for name in ("counter", "gauge", "histogram", "summary")}
    text = {"type": "str", "required": True}
    module = AnsibleModule(
        argument_spec={"name": text, "description": text, "address": text, **kinds}
    )
    body = {key: value for key, value in module.params.items() if key != "address"}
    request = urllib.request.Request(  # noqa: S310  # the runner's own address
        module.params["address"],
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        urllib.request.urlopen(request, timeout=10)  # noqa: S310
    except urllib.error.HTTPError as error:
        module.fail_json(msg=error.read().decode())
    module.exit_json(changed=True)


if __name__ == "__main__":
    main()
