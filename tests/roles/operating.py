# SPDX-License-Identifier: Apache-2.0
"""A namespace in which an operator works, and how to look at it."""

import json
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

from testbed.bed import TestBed

KINDS = "statefulset,deployment,service,configmap,secret,pvc,poddisruptionbudget,networkpolicy"
CHILDREN = "logset,dnset,cnset,proxyset,webui"
T = TypeVar("T")


def eventually(look: Callable[[], T], seconds: float = 90.0) -> T:
    """Return what ``look`` finds as soon as it finds something; fail when the time is over."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.3)
    return found


class Namespace:
    """What is in the namespace of these tests."""

    def __init__(self, bed: TestBed, name: str) -> None:
        self.bed, self.name = bed, name

    def kubectl(self, *arguments: str, **how: Any) -> str:
        return self.bed.kubectl("-n", self.name, *arguments, **how)

    def apply(self, resource: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(resource))

    def get(self, kind: str, name: str) -> dict[str, Any]:
        text = self.kubectl("get", kind, name, "--ignore-not-found", "-o", "json")
        return json.loads(text) if text.strip() else {}

    def names(self, kinds: str) -> set[str]:
        found = self.kubectl("get", kinds, "-o", "name").split()
        return {name for name in found if not name.endswith("kube-root-ca.crt")}

    def condition(self, kind: str, name: str, wanted: str) -> dict[str, Any]:
        listed = (self.get(kind, name).get("status") or {}).get("conditions") or []
        return next((one for one in listed if one["type"] == wanted), {})

    def wait(self, condition: str, kind: str = "mo", name: str = "mo") -> None:
        """Wait as a user would."""
        self.kubectl("wait", f"--for={condition}", f"{kind}/{name}", "--timeout=120s")

    def versions(self) -> dict[str, str]:
        text = self.kubectl("get", f"mo,{CHILDREN},{KINDS}", "-o", "json")
        return {
            f"{one['kind']}/{one['metadata']['name']}": one["metadata"]["resourceVersion"]
            for one in json.loads(text)["items"]
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
