# SPDX-License-Identifier: Apache-2.0
"""The collections of a project, with an answer to commands that no fake node can execute."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_KUBERNETES = Path("ansible_collections", "kubernetes", "core")
_ANSWERING = '''\
#!/usr/bin/python
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers commands instead of the containers of fake nodes, which do not exist."""

import json
import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

ANSWERS = json.loads({answers!r})


def main():
    options = ("namespace", "pod", "container", "command")
    specification = dict(AUTH_ARG_SPEC, **{{name: {{"type": "str"}} for name in options}})
    module = AnsibleModule(specification)
    command = module.params["command"]
    stdout = next((said for known, said in ANSWERS.items() if re.search(known, command)), "")
    said = dict(stdout=stdout, stdout_lines=stdout.splitlines(), stderr="", stderr_lines=[])
    module.exit_json(changed=True, rc=0, return_code=0, **said)


if __name__ == "__main__":
    main()
'''


class CollectionError(Exception):
    """The collections of a project could not be installed."""


def provide(
    project: Path, target: Path, answers: Mapping[str, str], given: Path | None = None
) -> Path:
    """Install the collections of a project, and kubernetes.core.

    Args:
        project: whose ``vendor`` has archives of collections, or none.
        target: folder to make.
        answers: what a command says that matches a regular expression; other commands succeed
            and say nothing.
        given: folder with ``ansible_collections``, which is copied instead of ``vendor``.

    Returns:
        The folder, for ``ANSIBLE_COLLECTIONS_PATH``.

    Raises:
        CollectionError: an archive cannot be installed.
    """
    if given is None:
        _install(project, target)
    else:
        shutil.copytree(given, target)
    if not (target / _KUBERNETES).exists():
        shutil.copytree(ROOT / ".collections" / _KUBERNETES, target / _KUBERNETES)
    module = target / _KUBERNETES / "plugins" / "modules" / "k8s_exec.py"
    module.unlink(missing_ok=True)
    module.write_text(_ANSWERING.format(answers=json.dumps(dict(answers))))
    return target


def _install(project: Path, target: Path) -> None:
    """Install the archives of a project."""
    target.mkdir()
    archives = sorted((project / "vendor").rglob("*.tar.gz"))
    if archives:
        galaxy = Path(sys.executable).with_name("ansible-galaxy")
        options = ["--offline", "--no-deps", "-p", str(target)]
        command = [str(galaxy), "collection", "install", *options, *map(str, archives)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            raise CollectionError(f"collections of {project}: {done.stderr.strip()[-600:]}")
