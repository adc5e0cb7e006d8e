# SPDX-License-Identifier: Apache-2.0
"""Rendering by the playbook of the collection, where Ansible is installed."""

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from .errors import PluginError

_PROGRAM: Final = "ansible-playbook"
_PLAYBOOK: Final = "matrixorigin.matrixone.render"
_INSTALL: Final = "ansible-galaxy collection install matrixorigin.matrixone"
_SECONDS: Final = 300.0


def rendered(manifests: str, namespace: str) -> str:
    """Return the objects that the collection makes of manifests, as YAML documents.

    Args:
        manifests: of our kinds, as YAML; they are data to the playbook.
        namespace: of those that name none.

    Raises:
        PluginError: Ansible or the collection is missing, or the playbook fails.
    """
    program = shutil.which(_PROGRAM)
    if program is None:
        raise PluginError(
            f"{_PROGRAM} is not on PATH: rendering needs ansible-core, and the collection "
            f"({_INSTALL})"
        )
    with tempfile.TemporaryDirectory(prefix="kubectl-matrixone-") as folder:
        manifest, output = Path(folder) / "manifest.yaml", Path(folder) / "output.yaml"
        manifest.write_text(manifests, encoding="utf-8")
        values = {
            "manifest": str(manifest),
            "output": str(output),
            "namespace": namespace,
            # Ansible would look for another Python, as on a machine that it does not run on.
            "ansible_python_interpreter": "{{ ansible_playbook_python }}",
        }
        _play([program, _PLAYBOOK, "--inventory=localhost,", f"--extra-vars={json.dumps(values)}"])
        if not output.exists():
            raise PluginError(f"the playbook {_PLAYBOOK} has written nothing")
        return output.read_text(encoding="utf-8").lstrip("\n")


def _play(command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PluginError(f"{_PROGRAM} has not ended within {_SECONDS:g} s") from error
    if done.returncode:
        raise PluginError(_reason(done.stdout + done.stderr))


def _reason(text: str) -> str:
    """Return why a play failed, from what it printed."""
    words = " ".join(text.split())
    if "could not be found" in words and _PLAYBOOK in words:
        return f"the collection is not installed: {_INSTALL}"
    at = words.find('"msg": "')
    if at < 0:
        return words[-500:] or f"{_PROGRAM} failed and said nothing"
    try:
        message, _end = json.JSONDecoder().raw_decode(words, at + len('"msg": '))
    except ValueError:
        return words[at:]
    return str(message)
