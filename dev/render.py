# SPDX-License-Identifier: Apache-2.0
"""Print every object that custom resources lead to, offline, as YAML documents.

Usage: ``render.py FILE…``; ``-`` reads standard input. A file may have several documents; what a
set depends on is looked up among all of them, and objects of other products are passed over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    credential_secret,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    render_everything,
    rendered_kind,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.references import (
    find_references,
)
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.manifests.documents import (
    Document,
    ManifestError,
    read_documents,
)
from ansible_collections.matrixorigin.matrixone.plugins.plugin_utils.manifests.schemas import (
    refuse_unknown_fields,
)

SCRIPTS = {
    role: ROOT / "roles" / role / "files" / "start.sh"
    for role in ("logset", "dnset", "cnset", "proxyset")
}


class UnusableError(Exception):
    """The input cannot be rendered; the text is the whole message for the user."""


class _Dumper(yaml.SafeDumper):
    """YAML for people: scripts and TOML as literal blocks, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature of the base
        """Write shared parts out each time."""
        return True


_READ_DIFFERENTLY = re.compile(
    r"[yYnN]|[-+]?(\d[\d_]*\.?|\.)[\d_]*([eE][-+]?\d+)?|0[xXoObB][\da-fA-F_]+"
)
"""Texts that kubectl's parser takes for booleans or numbers, though the one here does not."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else "'" if _READ_DIFFERENTLY.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(manifests: list[Any]) -> str:
    """Return objects as a stream of YAML documents."""
    return "".join(
        "---\n" + yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100)
        for manifest in manifests
    )


def read_file(source: str) -> list[Document]:
    """Return the objects of a file, or of standard input.

    Raises:
        UnusableError: The file cannot be read.
        ManifestError: It is no YAML, or something in it is no object.
    """
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise UnusableError(f"{source}: {error.strerror}; give the path of a YAML file") from error
    except UnicodeDecodeError as error:
        raise UnusableError(f"{source}: is not valid YAML: {error}") from error
    return read_documents(text, source)


def render(documents: list[Document]) -> Iterator[tuple[str, list[Any]]]:
    """Yield, for each resource of ours, a heading and the objects it leads to.

    Raises:
        UnusableError: A resource cannot be rendered.
    """
    scripts = {role: path.read_text(encoding="utf-8") for role, path in SCRIPTS.items()}
    contents = [document.content for document in documents]
    resources = [document for document in documents if not _is_of_others(document)]
    for document in resources or documents:
        resource = document.content
        try:
            rendered_kind(resource)
            refuse_unknown_fields(resource)
            references = find_references(resource, contents)
            objects = render_everything(resource, start_scripts=scripts, references=references)
        except InvalidSpec as error:
            raise UnusableError(f"{document.place}: {document.name}: {error}") from error
        yield f"{document.name} leads to {len(objects)} objects{_secret_note(resource)}", objects


def _is_of_others(document: Document) -> bool:
    """Tell whether an object is of Kubernetes or another product, such as a Secret."""
    group = str(document.content.get("apiVersion") or names.GROUP).partition("/")[0]
    return "matrixorigin" not in group


def _secret_note(resource: dict[str, Any]) -> str:
    if resource.get("kind") != names.CLUSTER:
        return ""
    return (
        f", and to the Secret {credential_secret(resource)} with the root credential, which is "
        "used if it exists, or created with a random password"
    )


def main(arguments: list[str]) -> int:
    """Render the files and return the exit code."""
    if not arguments:
        print("usage: make render CR=<file>, or CR=- for standard input", file=sys.stderr)
        return 1
    try:
        documents = [document for source in arguments for document in read_file(source)]
        rendered = list(render(documents))
    except (UnusableError, ManifestError) as error:
        print(f"render: {error}", file=sys.stderr)
        return 1
    for heading, objects in rendered:
        print(f"# {heading}")
        print(to_yaml(objects), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
