# SPDX-License-Identifier: Apache-2.0
"""Names of a new kind and a new project, checked before anything is written."""

import re
from dataclasses import dataclass

from ansible_operator.errors import ConfigError

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_GROUP = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_ROLE = re.compile(r"[a-z][a-z0-9_]*")
_PROTECTED = ("k8s.io", "kubernetes.io")
"""Groups whose CRDs the API server accepts only with an approval of Kubernetes."""
_LONGEST_GROUP = 253
_LONGEST_PROJECT = 40
"""Names of objects are that of the project and a suffix, in the 63 characters of a label."""


@dataclass(frozen=True, slots=True)
class KindNames:
    """A kind, as its CRD and the files of a project name it."""

    group: str
    version: str
    kind: str
    plural: str

    @property
    def singular(self) -> str:
        """The kind in lower case: its name for kubectl, its role, its files."""
        return self.kind.lower()

    @property
    def definition(self) -> str:
        """The name of the CRD."""
        return f"{self.plural}.{self.group}"

    @property
    def api_version(self) -> str:
        """The value of ``apiVersion`` in an object."""
        return f"{self.group}/{self.version}"

    @property
    def definition_file(self) -> str:
        """The file of the CRD, relative to the project."""
        return f"config/crd/{self.group}_{self.plural}.yaml"

    @property
    def sample_file(self) -> str:
        """The file of the sample, relative to the project."""
        return f"config/samples/{self.group.split('.')[0]}_{self.version}_{self.singular}.yaml"


def kind_names(group: str, version: str, kind: str, plural: str = "") -> KindNames:
    """The checked names of a kind.

    Args:
        group: API group, a DNS name with a dot.
        version: such as ``v1alpha1``.
        kind: CamelCase.
        plural: in lower case; the English rule if it is empty.

    Raises:
        ConfigError: one of them is no such name; the message says what to write instead.
    """
    if not _KIND.fullmatch(kind):
        raise ConfigError(f"--kind {kind!r} is not CamelCase; write {_camel(kind)}")
    if not _GROUP.fullmatch(group) or len(group) > _LONGEST_GROUP:
        raise ConfigError(
            f"--group {group!r} is no DNS name of two or more parts in lower case; write one of a "
            "domain that you own, such as cache.example.com"
        )
    if any(group == name or group.endswith(f".{name}") for name in _PROTECTED):
        raise ConfigError(
            f"--group {group} belongs to Kubernetes, whose API server refuses CRDs in it without "
            "an approval; choose a domain that you own"
        )
    if not _VERSION.fullmatch(version):
        raise ConfigError(f"--version {version!r} is no API version; write v1, v1beta1 or v1alpha1")
    plural = plural or plural_of(kind)
    if not _LABEL.fullmatch(plural):
        raise ConfigError(
            f"--plural {plural!r} is no DNS label: it has lower-case letters, digits and dashes, "
            f"and begins with a letter; write {plural_of(kind)}"
        )
    return KindNames(group, version, kind, plural)


def project_name(name: str) -> str:
    """The checked name of a project, which names its objects in the cluster.

    Raises:
        ConfigError: it cannot name a namespace.
    """
    if not _LABEL.fullmatch(name) or len(name) > _LONGEST_PROJECT:
        raise ConfigError(
            f"{name!r} cannot name a project, because its namespace, Deployment and roles are "
            f"named so: use at most {_LONGEST_PROJECT} lower-case letters, digits and dashes, "
            "beginning with a letter; --name gives another name than that of the folder"
        )
    return name


def role_name(name: str) -> str:
    """The checked name of a role.

    Raises:
        ConfigError: Ansible would not accept it.
    """
    if not _ROLE.fullmatch(name):
        raise ConfigError(
            f"{name!r} is no name of a role: use lower-case letters, digits and underscores, "
            "beginning with a letter; rename its folder"
        )
    return name


def plural_of(kind: str) -> str:
    """The English plural of a kind, in lower case."""
    word = kind.lower()
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    if re.search(r"[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}s"


def _camel(text: str) -> str:
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[:1].upper() + word[1:] for word in words)
    return name if _KIND.fullmatch(name) else "a name such as Memcached"
