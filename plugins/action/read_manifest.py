# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action behind M(matrixorigin.matrixone.read_manifest); documented in plugins/modules."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..plugin_utils.controller_action import ControllerAction
from ..plugin_utils.manifests.documents import Document, ManifestError, read_documents
from ..plugin_utils.manifests.variables import resource_in_variables

Json = dict[str, Any]

_OF_THE_SERVER = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


class ActionModule(ControllerAction):
    """Read the resources of a manifest, from a file or from the variables of the play."""

    SPEC: ClassVar[Json] = {
        "kinds": {"type": "list", "elements": "str", "required": True},
        "file": {"type": "path"},
        "namespace": {"type": "str", "default": "default"},
        "others": {"type": "bool", "default": False},
    }

    def run(self, tmp: None = None, task_vars: Json | None = None) -> Json:
        """Return the resources of the given kinds, or the objects of others."""
        result: Json = super().run(tmp, task_vars)
        arguments = self.validated(self.SPEC)
        kinds = arguments["kinds"]
        try:
            documents = _documents(arguments["file"], task_vars or {}, kinds)
            if arguments["others"]:
                return {**result, "changed": False, "objects": _others(documents, arguments)}
            resources = _resources(documents, arguments)
        except ManifestError as error:
            return {**result, "failed": True, "msg": str(error)}
        return {**result, "changed": False, "resources": resources}


def _documents(file: str | None, variables: Json, kinds: Sequence[str]) -> list[Document]:
    if file:
        return read_documents(_text(file), file)
    resource = resource_in_variables(variables)
    if not resource.get("kind"):
        raise ManifestError(
            f"give a manifest of kind {' or '.join(kinds)}: -e manifest=<file>, or -e @<file>"
        )
    return [Document("the variables of the play", resource)]


def _text(file: str) -> str:
    # Ansible's working directory is the playbook's folder; users mean their own.
    path = Path(os.environ.get("PWD", ""), file)
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ManifestError(f"manifest: {path}: {error.strerror}; give a YAML file") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"manifest: {path}: is not a text in UTF-8") from error


def _resources(documents: Sequence[Document], arguments: Json) -> list[Json]:
    kinds = arguments["kinds"]
    chosen = [document for document in documents if document.kind in kinds]
    if not chosen:
        given = ", ".join(sorted({document.name for document in documents}))
        raise ManifestError(f"a manifest of kind {' or '.join(kinds)} is needed, not {given}")
    return [_placed(_checked(document), arguments["namespace"]) for document in chosen]


def _others(documents: Sequence[Document], arguments: Json) -> list[Json]:
    rest = [document for document in documents if document.kind not in arguments["kinds"]]
    # The API server drops the namespace of what has none, such as a StorageClass.
    return [_placed(_checked(document), arguments["namespace"]) for document in rest]


def _checked(document: Document) -> Document:
    metadata = document.content.get("metadata")
    if not isinstance(metadata, Mapping) or not metadata.get("name"):
        raise ManifestError(f"{document.place}: {document.name}: metadata.name must be set")
    if not document.content.get("apiVersion"):
        raise ManifestError(f"{document.place}: {document.name}: apiVersion must be set")
    return document


def _placed(document: Document, namespace: str) -> Json:
    """Return the object in a namespace, without what a server has added to it.

    With a ``uid``, as ``kubectl get -o yaml`` prints it, it would be taken for the object that is
    stored in the cluster.
    """
    metadata = {"namespace": namespace, **document.content["metadata"]}
    desired = {name: value for name, value in metadata.items() if name not in _OF_THE_SERVER}
    content = {name: value for name, value in document.content.items() if name != "status"}
    return {**content, "metadata": desired}
