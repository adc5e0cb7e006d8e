# SPDX-License-Identifier: Apache-2.0
"""The inventory of a run that brings none: one host, in a file that the runner has written.

Ansible would take the words of that file apart for a twentieth of a small play's time.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.inventory.manager import InventoryManager
from ansible.plugins.inventory import BaseInventoryPlugin


class KnownFile(BaseInventoryPlugin):
    """What a file of exactly this text says; for Ansible it was read by the plugin ``ini``."""

    NAME = _load_name = "ini"
    _original_path = __file__

    def __init__(self, text: str, host: str, variables: Mapping[str, str]) -> None:
        super().__init__()
        self._text = text
        self._host = host
        self._variables = variables

    def verify_file(self, path: str) -> bool:
        """Whether a file is this one."""
        return Path(path).read_text() == self._text

    def parse(self, inventory: Any, *_: Any, **_options: Any) -> None:
        """Add the host to an inventory."""
        inventory.add_host(self._host, group="ungrouped")
        for name, value in self._variables.items():
            inventory.set_variable(self._host, name, value)


class OwnHosts(InventoryManager):
    """An inventory that knows a file; any other is left to Ansible's plugins."""

    def __init__(self, known: KnownFile, loader: Any, sources: Any) -> None:
        self._known = known
        super().__init__(loader=loader, sources=sources)

    def _fetch_inventory_plugins(self) -> Iterator[Any]:
        yield self._known
        yield from super()._fetch_inventory_plugins()
