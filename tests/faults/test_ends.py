# SPDX-License-Identifier: Apache-2.0
"""What is compared of two namespaces does not depend on digests in names."""

from typing import Any

from faults.live.ends import compared, state

Json = dict[str, Any]


class Server:
    """Lists objects, by name as an API server does."""

    def __init__(self, *configs: tuple[str, str]) -> None:
        self._configs = sorted(configs)

    def listed(self, _kinds: str, namespace: str) -> list[Json]:
        return [
            {"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": text}
            for name, text in self._configs
        ]


def test_objects_with_digests_are_numbered_by_what_they_have() -> None:
    one: Any = Server(("config-0000001", "old"), ("config-0000002", "new"))
    other: Any = Server(("config-0000003", "new"), ("config-0000004", "old"))
    kinds = ["configmap"]
    assert compared(state(one, "space-1", kinds), state(other, "space-2", kinds)) == ""
    lacking: Any = Server(("config-0000003", "new"), ("config-0000004", "new"))
    assert "ConfigMap/config-<digest>" in compared(
        state(one, "space-1", kinds), state(lacking, "space-2", kinds)
    )
