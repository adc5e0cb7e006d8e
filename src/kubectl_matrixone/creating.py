# SPDX-License-Identifier: Apache-2.0
"""Objects that a user creates: printed, checked or created. They never replace another one."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import yaml

from .kubectl import Json, Kubectl
from .reading import GROUP

_VERSION: Final = f"{GROUP}/v1alpha1"
MANAGER: Final = "--field-manager=kubectl-matrixone"


class DryRun(StrEnum):
    """As of kubectl."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Creating:
    """How something is created.

    Attributes:
        dry_run: whether nothing is created, and who checks it then.
        output: yaml or json prints the manifest, and creates nothing; empty otherwise.
    """

    dry_run: DryRun = DryRun.NONE
    output: str = ""

    @property
    def creates(self) -> bool:
        """Whether something is there afterwards that was not before."""
        return self.dry_run is DryRun.NONE and not self.output


def manifest(kind: str, name: str, namespace: str, spec: Json) -> Json:
    """Return an object of our group.

    Args:
        kind: of the object.
        name: of the object.
        namespace: empty for the one of the context.
        spec: of the object.
    """
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": _VERSION,
        "kind": kind,
        "metadata": {"name": name, **place},
        "spec": spec,
    }


def create(kubectl: Kubectl, one: Json, how: Creating) -> str:
    """Create an object, unless it is only to be printed or checked; return what there is to say.

    Raises:
        KubectlError: the API server refuses it, as one of that name exists.
    """
    if how.dry_run is DryRun.SERVER:
        shown = f"--output={how.output}" if how.output else "--output=name"
        answer = kubectl.run(
            "create", "--filename=-", MANAGER, "--dry-run=server", shown, given=json.dumps(one)
        )
        return answer if how.output else f"{answer.strip()} created (server dry run)\n"
    if not how.creates:
        return written(one, how.output or "yaml")
    created = kubectl.run("create", "--filename=-", MANAGER, "--output=name", given=json.dumps(one))
    return f"{created.strip()} created\n"


def written(one: Json, form: str) -> str:
    """Return an object as yaml or json."""
    if form == "json":
        return json.dumps(one, indent=2) + "\n"
    return str(yaml.safe_dump(one, sort_keys=False, width=200))
