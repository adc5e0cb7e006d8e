# SPDX-License-Identifier: Apache-2.0
"""A plugin's options read from its documentation once per process, not at every use.

Ansible remembers the options, but not that a plugin has none.
"""

from ansible.plugins.loader import PluginLoader


def install() -> None:
    """Have Ansible's plugin loaders remember whose documentation they have read."""
    stock = PluginLoader._load_config_defs
    known: set[tuple[str, str, str]] = set()

    def load(self: PluginLoader, name: str, module: object, path: str) -> None:
        key = (self.class_name, name, path)
        if key not in known:
            stock(self, name, module, path)
            known.add(key)

    PluginLoader._load_config_defs = load
