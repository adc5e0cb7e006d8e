# SPDX-License-Identifier: Apache-2.0
"""The process that has the functions loaded; every worker is a fork of it.

Started by the runner as ``python -m ansible_operator.engine.admission.process CONTROL FOLDER
FUNCTION...``, each function as JSON: its key, the names to try, the folder of its role or playbook.
A worker answers one question after the other and ends with its socket or its parent.
"""

import functools
import json
import os
import shutil
import socket
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.plugins.loader import filter_loader, init_plugin_loader
from ansible.utils.collection_loader import AnsibleCollectionConfig

from ansible_operator.engine.admission.contract import Plugin, answer
from ansible_operator.engine.forking import frames as wire
from ansible_operator.engine.forking.processes import be_silent, become_subreaper, die_with
from ansible_operator.engine.warm.template import Template


class FunctionMissingError(Exception):
    """A watch names a function that cannot be used."""


def _load(functions: list[dict[str, Any]]) -> dict[str, Plugin]:
    """Find the plugins, as plays of these roles and playbooks would.

    Raises:
        FunctionMissingError: a name means nothing, or a plugin that needs a template.
    """
    init_plugin_loader()
    folders = [function["folder"] for function in functions]
    AnsibleCollectionConfig.playbook_paths = list(dict.fromkeys(folders))
    for folder in dict.fromkeys(folders):
        filter_loader.add_directory(str(Path(folder, "filter_plugins")))
    return {function["key"]: _find(function["names"]) for function in functions}


def _find(names: list[str]) -> Plugin:
    for name in names:
        try:
            found = filter_loader.get(name)
        except KeyError:
            continue
        if found is None:
            continue
        plugin: Plugin = found.j2_function
        if getattr(plugin, "jinja_pass_arg", None) is not None:
            raise FunctionMissingError(f"the filter {name} needs the context of a template")
        return plugin
    raise FunctionMissingError(
        f"there is no filter plugin {names[-1]}: it is looked for in the collections of "
        "ANSIBLE_COLLECTIONS_PATH and in filter_plugins beside the role's tasks or the playbook"
    )


def _work(connection: socket.socket, plugins: Mapping[str, Plugin], parent: int) -> int:
    """Be a worker until nobody asks any more."""
    die_with(parent)
    be_silent()
    while True:
        try:
            _, body = wire.read_frame(connection)
        except EOFError:
            return 0
        said = answer(plugins, json.loads(body))
        try:
            text = json.dumps(said)
        except (TypeError, ValueError, RecursionError) as error:
            text = json.dumps({"failed": f"an admission function's answer is not JSON: {error}"})
        connection.sendall(wire.frame(wire.Kind.RESULT, text.encode()))


def main() -> None:
    """Load, tell the runner, fork workers."""
    control = socket.socket(fileno=int(sys.argv[1]))
    folder, functions = Path(sys.argv[2]), [json.loads(text) for text in sys.argv[3:]]
    become_subreaper()
    try:
        plugins = _load(functions)
    except FunctionMissingError as error:
        control.send(wire.packet({"failed": str(error)}))
        os._exit(1)
    except Exception as error:  # noqa: BLE001 (the boundary: the runner tells the user)
        traceback.print_exc()
        control.send(wire.packet({"failed": f"{type(error).__name__}: {error}"[:4000]}))
        os._exit(1)
    Template(control, functools.partial(_work, plugins=plugins, parent=os.getpid())).serve("")
    # The runner removes the folder, too, unless it was killed.
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    main()
