# SPDX-License-Identifier: Apache-2.0
"""The rules of the schema and the parser say the same, as far as the rules go."""

import re
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location import (
    endpoints,
    folders,
    paths,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.errors import (
    InvalidLocation,
)
from hypothesis import given
from hypothesis import strategies as st

from crds.generate.sources import Sources
from tests.support.places import ROOT

LOG_SET = next(k for k in Sources(ROOT / "crds" / "schema").kinds() if k.name == "LogSet")
STORAGE = LOG_SET.schema["properties"]["spec"]["properties"]["sharedStorage"]["properties"]
_TEXT = r"""r?(?:"[^"]*"|'[^']*')"""
_CALL = re.compile(rf"(!?)self\.matches\(\s*({_TEXT}(?:\s*\+\s*{_TEXT})*)\)")


def accepts(field: dict[str, Any], text: str) -> bool:
    """Return whether the patterns of a field accept a text, as RE2 would find."""
    if text == "" and field.get("minLength", 0) == 0:
        return True
    rules = [rule["rule"] for rule in field["x-kubernetes-validations"]]
    calls = [call for rule in rules for call in _CALL.findall(rule)]
    assert len(calls) == sum(rule.count("matches(") for rule in rules)
    return all(bool(re.search(_pattern(written), text)) is not bool(no) for no, written in calls)


def _pattern(written: str) -> str:
    """Return what one or more literals of CEL say; the end is that of the text."""
    literals = [literal.removeprefix("r")[1:-1] for literal in re.findall(_TEXT, written)]
    return "".join(literals).replace("$", r"\Z")


ENDPOINT, PATH = (STORAGE["s3"]["properties"][name] for name in ("endpoint", "path"))
FOLDER = STORAGE["fileSystem"]["properties"]["path"]
_PIECES = st.sampled_from(
    ["http://", "https://", "s3://", "a", "minio", ".", "..", "/", "//", ":", "80", "65536", "-",
     "[", "]", "::1", " ", "?", "@", "=", "é", "etc", "tmp", "var/lib/matrixone", "%"]
)  # fmt: skip
_TEXTS = st.one_of(st.text(max_size=20), st.lists(_PIECES, max_size=8).map("".join))


@given(_TEXTS)
def test_an_endpoint_of_the_parser_is_one_of_the_schema(text: str) -> None:
    try:
        endpoints.Endpoint.parse(text)
    except InvalidLocation:
        return
    assert accepts(ENDPOINT, text)


@given(_TEXTS)
def test_a_path_of_the_parser_is_one_of_the_schema(text: str) -> None:
    try:
        paths.BucketPath.parse(text)
    except InvalidLocation:
        return
    assert accepts(PATH, text)


@given(_TEXTS.map("/".__add__))
def test_a_folder_is_accepted_by_both_or_by_none(text: str) -> None:
    try:
        mistake = folders.folder_mistake(paths.parse_folder(text))
    except InvalidLocation as error:
        mistake = str(error)
    assert accepts(FOLDER, text) is (not mistake) or not text.isascii()


@given(st.text(st.characters(codec="ascii"), max_size=20), _TEXTS.filter(str.isascii))
def test_an_ascii_path_of_the_schema_is_one_of_the_parser(text: str, pieces: str) -> None:
    for path in (text, pieces):
        if path and accepts(PATH, path):
            assert paths.BucketPath.parse(path)


@pytest.mark.parametrize("reserved", folders.RESERVED)
def test_the_schema_has_all_reserved_folders(reserved: str) -> None:
    above = reserved.rpartition("/")[0]
    for path in filter(None, (reserved, f"{reserved}/", f"{reserved}/deeper", above)):
        assert not accepts(FOLDER, path), path
    beside = f"{reserved}-shared"
    assert accepts(FOLDER, beside) is (not folders.folder_mistake(beside))
