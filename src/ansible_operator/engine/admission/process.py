# SPDX-License-Identifier: Apache-2.0
"""The process that has the functions loaded; every worker is a fork of it.

A template (``forking.template``) whose arguments are the functions, each as JSON: its key, the
names to try, the folder of its role or playbook. A worker answers one question after the other and
ends with its socket or its parent.
"""

import functools
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible.plugins.loader import filter_loader, init_plugin_loader

from ansible_operator.engine.admission.contract import Plugin, answer
from ansible_operator.engine.forking.frames import Kind, frame, read_frame
from ansible_operator.engine.forking.processes import be_silent, die_with
from ansible_operator.engine.forking.template import CannotStartError, Serve, run_template
from ansible_operator.engine.patches import collection_paths


class FunctionMissingError(CannotStartError):
    """A watch names a function that cannot be used."""


def _load(functions: list[dict[str, Any]]) -> dict[str, Plugin]:
    """Find the plugins, as plays of these roles and playbooks would.

    Raises:
        FunctionMissingError: a name means nothing, or a plugin that needs a template.
    """
    init_plugin_loader()
    folders = [function["folder"] for function in functions]
    collection_paths.search_beside(*dict.fromkeys(folders))
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
        f"there is no filter plugin {names[-1]}: it is searched for in the collections of "
        "ANSIBLE_COLLECTIONS_PATH and in filter_plugins beside the role's tasks or the playbook"
    )


def _work(connection: socket.socket, plugins: Mapping[str, Plugin], parent: int) -> int:
    """Answer questions until the socket ends."""
    die_with(parent)
    be_silent()
    while True:
        try:
            _, body = read_frame(connection)
        except EOFError:
            return 0
        answered = answer(plugins, json.loads(body))
        try:
            body = json.dumps(answered, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            failed = {"failed": f"an admission function's answer is not JSON: {error}"}
            body = json.dumps(failed).encode()
        connection.sendall(frame(Kind.RESULT, body))


def _load_all(folder: Path, arguments: Sequence[str]) -> tuple[Serve, str]:
    del folder
    plugins = _load([json.loads(text) for text in arguments])
    return functools.partial(_work, plugins=plugins, parent=os.getpid()), ""


if __name__ == "__main__":
    run_template(_load_all)
