# SPDX-License-Identifier: Apache-2.0
"""Versions and the features they switch."""

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import versions
from hypothesis import given
from hypothesis import strategies as st

from tests.support.places import ROOT


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("a/b:1.1.1", "1.1.1"),
        ("reg/a/b:latest", "latest"),
        ("a/b", ""),
        ("reg:5000/a/b:v1.0.0", "v1.0.0"),
        ("", ""),
    ],
)
def test_image_tag(image: str, tag: str) -> None:
    assert versions.image_tag(image) == tag


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("1.2.3", "1.2.3"),
        (" v1.2 ", "1.2.0"),
        ("v3", "3.0.0"),
        ("01.02.03", "1.2.3"),
        ("v1.1.2-rc1", "1.1.2-rc1"),
        ("1.0.0-rc1+build.5", "1.0.0-rc1+build.5"),
        ("v3.0.16-bda2d138a-2026-06-24", "3.0.16-bda2d138a-2026-06-24"),
    ],
)
def test_parsing_is_tolerant(text: str, normal: str) -> None:
    assert str(versions.parse(text)) == normal


NIGHTLY = [
    "20241116",
    "2024-11-16",
    "2024.11.16",
    "v20241116",
    "241116",
    "20241116-abcdef",
    "1234567",
]
"""Dates, with a commit or without, and a commit that has digits only."""


@pytest.mark.parametrize(
    "text",
    ["", "latest", "nightly-0123abc", "nightly-20241116", "test", "1.2.3.4", "v", "1.x", *NIGHTLY],
)
def test_what_is_no_version_is_unknown(text: str) -> None:
    assert versions.parse(text) is None


@pytest.mark.parametrize("text", ["999.0.0", "2.0.20241116", "1.2-20241116", "0003.0.1"])
def test_only_the_first_number_tells_a_date(text: str) -> None:
    assert versions.parse(text) is not None


@pytest.mark.parametrize("tag", NIGHTLY)
@pytest.mark.parametrize(
    ("operator", "is_version"), [("1.4.0", False), ("1.3.0", True), ("1.2.0", True)]
)
def test_what_runs_keeps_what_was_rendered_for_a_date(
    tag: str, operator: str, is_version: bool
) -> None:
    behaviour = versions.operator_version(operator)
    by_tag = versions.matrixone_version("", f"a/b:{tag}", behaviour)
    by_spec = versions.matrixone_version(tag, "a/b:2.0.1", behaviour)
    assert [one is not None for one in (by_tag, by_spec)] == [is_version, is_version]


def test_semantic_version_beats_the_tag() -> None:
    newest = versions.Version(1, 4, 0)
    assert str(versions.matrixone_version("v1.1.2", "a/b:test", newest)) == "1.1.2"
    assert str(versions.matrixone_version("", "a/b:2.0.1", newest)) == "2.0.1"
    assert versions.matrixone_version("", "a/b:test", newest) is None
    assert versions.matrixone_version("nightly", "a/b:2.0.1", newest) is None


@pytest.mark.parametrize(
    ("image", "operator", "version"),
    [
        ("a/b:2.0.1@sha256:0a1b", "1.4.0", "2.0.1"),
        ("a:5000/b:2.0.1@sha256:0a1b", "1.4.1", "2.0.1"),
        # What runs keeps the configuration that was rendered for it.
        ("a/b:2.0.1@sha256:0a1b", "1.3.0", "None"),
        ("a/b:2.0.1", "1.3.0", "2.0.1"),
        ("a/b@sha256:0a1b", "1.4.0", "None"),
        ("a:5000/b@sha256:0a1b", "1.4.0", "None"),
    ],
)
def test_the_tag_before_a_digest(image: str, operator: str, version: str) -> None:
    behaviour = versions.operator_version(operator)
    assert str(versions.matrixone_version("", image, behaviour)) == version


HAS = [
    *(("PipelineInfo", v) for v in ("1.1.2", "1.1.3", "1.2.0", "2.0.0", "v1.1.2-rc1")),
    *(("SessionSource", v) for v in ("1.1.2", "1.2.0", "2.3.4")),
    *(("LockMigration", v) for v in ("v1.2.0-alpha.1", "v1.2.2-text", "2.0.1", "1.9.0")),
    *(("ShardingMigration", v) for v in ("2.0.0", "2.5.1")),
    *(
        ("DiscoveryFixed", v)
        for v in (
            "2.0.0", "2.1.0", "3.0.0", "3.0.16", "v3.0.16-bda2d138a-2026-06-24", "4.0.0", "4.5.2",
        )
    ),
]  # fmt: skip
HAS_NOT = [
    *(("PipelineInfo", v) for v in ("1.1.1", "v1.1.1", "0.9.9", "3.0.0")),
    *(("SessionSource", v) for v in ("1.1.1", "3.0.0")),
    *(("LockMigration", v) for v in ("1.1.9", "3.0.0")),
    *(("ShardingMigration", v) for v in ("1.9.9", "3.0.0")),
    *(("DiscoveryFixed", v) for v in ("1.2.0", "1.9.9", "1.3.0", "latest")),
]


@pytest.mark.parametrize(("feature", "version"), HAS)
def test_has_feature(feature: str, version: str) -> None:
    assert versions.has_feature(versions.parse(version), feature)


@pytest.mark.parametrize(("feature", "version"), HAS_NOT)
def test_has_not_feature(feature: str, version: str) -> None:
    assert not versions.has_feature(versions.parse(version), feature)


def test_a_base_with_a_patch_counts_within_its_minor_version() -> None:
    base = versions.Version(1, 2, 3)
    assert versions.Version(1, 2, 3).reaches(base)
    assert versions.Version(1, 2, 4).reaches(base)
    assert not versions.Version(1, 3, 0).reaches(base)


def test_no_feature_is_in_both_tables() -> None:
    within = versions._MO_FEATURES.keys()
    across = versions._MO_FEATURES_ACROSS_MAJORS.keys()
    assert not within & across


@pytest.mark.parametrize(
    ("text", "normal"), [("", "1.4.0"), ("v1.2", "1.2.0"), ("what", "1.2.0"), ("1.4.0", "1.4.0")]
)
def test_operator_version(text: str, normal: str) -> None:
    assert str(versions.operator_version(text)) == normal


@pytest.mark.parametrize(
    ("version", "does"), [("1.2.0", False), ("1.3.0", True), ("1.3.1", True), ("1.4.0", True)]
)
def test_operator_behaviour(version: str, does: bool) -> None:
    operator = versions.operator_version(version)
    assert versions.operator_does(operator, "InplacePoolRollingUpdate") is does
    assert versions.operator_does(operator, "InplaceConfigmapUpdate") is does


@given(st.tuples(*[st.integers(0, 9)] * 3), st.tuples(*[st.integers(0, 9)] * 3))
def test_crossing_majors_only_adds(base: tuple[int, int, int], cur: tuple[int, int, int]) -> None:
    wanted, current = versions.Version(*base), versions.Version(*cur)
    if current.reaches(wanted):
        assert current.reaches(wanted, across_majors=True)
        assert current.major == wanted.major


def test_the_newest_behaviour_is_the_one_that_crds_accept() -> None:
    bases = [base for bases in versions._OPERATOR_FEATURES.values() for base in bases]
    newest = max(
        (versions.operator_version(base) for base in bases), key=lambda v: (v.major, v.minor)
    )
    assert newest == versions.NEWEST_OPERATOR_VERSION
    limit = newest.major * 100_000_000 + (newest.minor + 1) * 10_000
    rules = (ROOT / "crds/schema/scalars.yaml").read_text()
    assert f".all(n, n < {limit})" in rules
    assert f"n[1] >= {limit})" in rules
    assert f"must be {newest.major}.{newest.minor} or older" in rules
