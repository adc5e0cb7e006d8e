# SPDX-License-Identifier: Apache-2.0
"""The files of a project, as texts by their paths in it; nothing is written here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from ansible_operator import __version__
from ansible_operator.authoring import definition, manifests
from ansible_operator.authoring.names import KindNames
from ansible_operator.authoring.options import Option
from ansible_operator.authoring.yaml_text import Json, documents

_TEXTS = {
    "Dockerfile": "Dockerfile",
    "Makefile": "Makefile",
    "README.md": "README.md",
    "requirements.txt": "requirements.txt",
    "gitignore": ".gitignore",
    "dockerignore": ".dockerignore",
    "test_operator.txt": "tests/test_operator.py",
}
"""Files of this package, and where they go."""


@dataclass(frozen=True, slots=True)
class NewKind:
    """A kind with the role that is run for it.

    Attributes:
        names: of the kind.
        role: name of the role.
        options: what the role takes from the spec.
        rules: rights for the objects that the role handles.
    """

    names: KindNames
    role: str
    options: Sequence[Option]
    rules: Sequence[Json]


def files_of_project(project: str, kind: NewKind) -> dict[str, str]:
    """All files of a new project, without its role."""
    names = kind.names
    watches = [manifests.watch(names, kind.role)]
    data = {
        "watches.yaml": documents(watches),
        "requirements.yml": documents({"collections": [_COLLECTION]}),
        ".ansible-lint": documents({"profile": "production", "exclude_paths": ["config/"]}),
        ".yamllint": documents(_YAMLLINT),
        ".github/workflows/ci.yaml": documents(_ci(project)),
        "config/crd/kustomization.yaml": _listing(_base(names.definition_file)),
        "config/rbac/kustomization.yaml": _listing(
            "service_account.yaml", "leader_election.yaml", _base(rights_file(names))
        ),
        "config/rbac/service_account.yaml": documents(manifests.service_account(project)),
        "config/rbac/leader_election.yaml": documents(*manifests.leader_election(project)),
        "config/manager/kustomization.yaml": _listing("namespace.yaml", "deployment.yaml"),
        "config/manager/namespace.yaml": documents(manifests.namespace(project)),
        "config/manager/deployment.yaml": documents(manifests.deployment(project)),
        "config/default/kustomization.yaml": _listing("../crd", "../manager", "../rbac"),
    }
    return {**data, **files_of_kind(project, kind), **_texts(project, kind)}


def files_of_kind(project: str, kind: NewKind) -> dict[str, str]:
    """The files that each kind has: CRD, rights, sample."""
    names = kind.names
    comment = (
        f"What the operator may do for {names.kind}: the last rules are for the objects that the\n"
        f"role {kind.role} handles, as far as its files name them. Add a rule when it handles "
        "others."
    )
    return {
        names.definition_file: definition.text(names, kind.role, kind.options),
        rights_file(names): documents(
            *manifests.rights(project, names, kind.rules), comment=comment
        ),
        names.sample_file: documents(manifests.sample(names, kind.options)),
    }


def rights_file(names: KindNames) -> str:
    """The file with the rights for a kind."""
    return f"config/rbac/{names.definition}.yaml"


def lists() -> tuple[str, str]:
    """The kustomizations that list the files of kinds: CRDs, rights."""
    return "config/crd/kustomization.yaml", "config/rbac/kustomization.yaml"


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _listing(*paths: str) -> str:
    return documents(manifests.kustomization(*paths))


def _texts(project: str, kind: NewKind) -> dict[str, str]:
    values = {
        "@PROJECT@": project,
        "@KIND@": kind.names.kind,
        "@PLURAL@": kind.names.plural,
        "@ROLE@": kind.role,
        "@SAMPLE@": kind.names.sample_file,
        "@RIGHTS@": rights_file(kind.names),
        "@VERSION@": __version__,
        "@IMAGE@": manifests.IMAGE,
    }
    folder = resources.files("ansible_operator.authoring") / "files"
    return {
        path: _filled((folder / name).read_text(encoding="utf-8"), values)
        for name, path in _TEXTS.items()
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


_COLLECTION: Json = {"name": "kubernetes.core", "version": ">=5.0.0"}
_YAMLLINT: Json = {
    "extends": "default",
    "ignore": [".venv/", ".ansible/"],
    "rules": {
        "braces": {"max-spaces-inside": 1},
        "comments": {"min-spaces-from-content": 1},
        "comments-indentation": False,
        "line-length": {"max": 160},
        "octal-values": {"forbid-implicit-octal": True, "forbid-explicit-octal": True},
        "truthy": {"check-keys": False},
    },
}


def _ci(project: str) -> Json:
    prepared: list[Json] = [
        {"uses": "actions/checkout@v4"},
        {"uses": "actions/setup-python@v5", "with": {"python-version": "3.12"}},
        {"run": "make requirements"},
    ]
    return {
        "name": "ci",
        "on": {"push": {"branches": ["main"]}, "pull_request": {}},
        "permissions": {"contents": "read"},
        "jobs": {
            "check": {"runs-on": "ubuntu-24.04", "steps": [*prepared, {"run": "make check lint"}]},
            "test": {
                "runs-on": "ubuntu-24.04",
                "steps": [
                    *prepared,
                    {"uses": "helm/kind-action@v1", "with": {"cluster_name": project}},
                    {"run": "make test"},
                ],
            },
        },
    }
