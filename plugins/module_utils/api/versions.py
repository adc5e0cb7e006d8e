# SPDX-License-Identifier: Apache-2.0
"""Versions of MatrixOne and of the operator's behaviour, and what they switch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .names import DEFAULT_OPERATOR_VERSION

_VERSION: Final = re.compile(
    r"\s*v?(?P<major>\d+)(?:\.(?P<minor>\d+))?(?:\.(?P<patch>\d+))?"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\s*"
)

_MO_FEATURES: Final[dict[str, tuple[str, ...]]] = {
    "PipelineInfo": ("1.1.2", "1.2.0", "2.0.0"),
    "SessionSource": ("1.1.2", "1.2.0", "2.0.0"),
    "LockMigration": ("1.2.0", "2.0.0"),
    "ShardingMigration": ("2.0.0",),
}
"""Features by the versions from which on they exist, each within its own major version."""

_MO_FEATURES_ACROSS_MAJORS: Final[dict[str, tuple[str, ...]]] = {"DiscoveryFixed": ("2.0.0",)}
"""Features that later major versions have too. A feature is in one of the tables only."""

_OPERATOR_FEATURES: Final[dict[str, tuple[str, ...]]] = {
    "InplaceConfigmapUpdate": ("1.3.0",),
    "InplacePoolRollingUpdate": ("1.3.0",),
    "WebUIFollowsCluster": ("1.4.0",),
    "ProxyFollowsSoon": ("1.4.0",),
    "TagBeforeDigest": ("1.4.0",),
    "SizesInBytes": ("1.4.0",),
    "CompleteHelperResources": ("1.4.0",),
    "StorageCheckRenames": ("1.4.0",),
    "DatesAreNoVersions": ("1.4.0",),
}


@dataclass(frozen=True, slots=True)
class Version:
    """A tolerant semantic version.

    Attributes:
        major: first number.
        minor: second number, 0 when it was missing.
        patch: third number, 0 when it was missing.
        suffix: pre-release and build, with their ``-`` and ``+``, or empty.
    """

    major: int
    minor: int
    patch: int
    suffix: str = ""

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}{self.suffix}"

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Major, minor and patch, to compare; pre-releases and builds do not matter."""
        return self.major, self.minor, self.patch

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor: what is written within one such release, all of its versions read."""
        return self.major, self.minor

    def reaches(self, base: Version, *, across_majors: bool = False) -> bool:
        """Return whether this version has what came with ``base``; pre-releases do not matter."""
        if across_majors and self.major > base.major:
            return True
        if self.major != base.major:
            return False
        if base.patch == 0 and self.minor >= base.minor:
            return True
        return self.minor == base.minor and self.patch >= base.patch


_REPORTED: Final = "-MatrixOne-"
"""What a database reports has it before its version, and the version of MySQL before that."""
_FIRST_DATE: Final = 1000
"""From here on, the first number of a tag is a year, a day or a commit, and no major version."""
NEWEST_OPERATOR_VERSION: Final = Version(1, 4, 0)
"""The newest behaviour; CRDs refuse what is newer than its patch releases (crds/schema)."""
OLDEST_OPERATOR_VERSION: Final = Version(1, 2, 0)
"""What a set gets that names a version which cannot be read."""


def parse(text: str) -> Version | None:
    """Read a version; a leading ``v``, spaces, missing parts and leading zeros are no obstacle.

    Returns:
        The version, or None for a text that is none, such as ``latest``, a date or a commit.
    """
    found = _parse_numbers(text)
    return found if found is not None and found.major < _FIRST_DATE else None


def reported(text: str) -> Version | None:
    """Read what ``select version()`` answers: ``8.0.30-MatrixOne-v3.0.4``, or the version alone.

    Returns:
        The version; None for builds that report a commit, which may have digits only.
    """
    found = text.rpartition(_REPORTED)[2]
    return parse(found) if "." in found else None


def _parse_numbers(text: str) -> Version | None:
    """Read a version, or what begins like one: ``20241116`` and ``2024-11-16`` have no minor."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    suffix = f"-{match['pre']}" if match["pre"] else ""
    suffix += f"+{match['build']}" if match["build"] else ""
    return Version(int(match["major"]), int(match["minor"] or 0), int(match["patch"] or 0), suffix)


def image_tag(image: str) -> str:
    """Return what follows the last ``:`` of an image; empty when there is none."""
    return image.rpartition(":")[2] if ":" in image else ""


def tag_of_version(image: str, operator: Version) -> str:
    """Return the tag by which an image names its version; empty when it has none.

    Before 1.4.0 the digest of ``repository:2.1.0@sha256:…`` hid the tag, and what runs keeps what
    was rendered for it.
    """
    if operator_does(operator, "TagBeforeDigest"):
        image = image.partition("@")[0]
    return image_tag(image)


def matrixone_version(semantic_version: str, image: str, operator: Version) -> Version | None:
    """Return the MatrixOne version of a set: what its spec says, else its image's tag.

    Before 1.4.0 a date was a version, newer than all, and what runs keeps what was rendered for it.
    """
    text = semantic_version or tag_of_version(image, operator)
    return parse(text) if operator_does(operator, "DatesAreNoVersions") else _parse_numbers(text)


def operator_version(text: str) -> Version:
    """Return the operator behaviour that a set asks for.

    A set that names none gets the newest behaviour; one that names something unreadable the oldest.
    """
    return parse(text or DEFAULT_OPERATOR_VERSION) or OLDEST_OPERATOR_VERSION


def has_feature(version: Version | None, feature: str) -> bool:
    """Return whether a MatrixOne version has a feature; an unknown version has none."""
    if version is None:
        return False
    if feature in _MO_FEATURES_ACROSS_MAJORS:
        bases, across = _MO_FEATURES_ACROSS_MAJORS[feature], True
    else:
        bases, across = _MO_FEATURES[feature], False
    return any(version.reaches(base, across_majors=across) for base in map(parse, bases) if base)


def operator_does(version: Version, feature: str) -> bool:
    """Return whether an operator version behaves in a certain way."""
    return any(version.reaches(base) for base in map(parse, _OPERATOR_FEATURES[feature]) if base)
