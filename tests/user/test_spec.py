# SPDX-License-Identifier: Apache-2.0
"""What a spec may say: everything else is refused, and never becomes SQL."""

import re
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import names
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.errors import InvalidSpec
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.kinds import (
    refusals,
    warnings_of,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.privileges import (
    LEVELS,
    Level,
    Place,
    as_sql,
    as_word,
    grants_of,
    shown,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.spec import (
    RESERVED,
    UserSpec,
)
from hypothesis import given
from hypothesis import strategies as st

from crds.generate.sources import Sources
from tests.support.places import ROOT

from .worlds import spec_of, user


@pytest.mark.parametrize("name", sorted({*RESERVED, "matrixorigin_user_x"}))
def test_names_of_the_database_are_refused(name: str) -> None:
    (mistake,) = refusals(user("x", name=name), None)
    assert mistake.field == "spec.name"
    assert "of MatrixOne or of the operator" in mistake.message


BAD_NAMES = {
    "upper case": "Shop",
    "digit": "1shop",
    "quote": "a'b",
    "backtick": "a`b",
    "colon": "sys:a",
    "space": "a b",
    "dot": "a.b",
    "long": "a" * 64,
    "line break": "a\n",
}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES)
def test_names_of_other_characters_are_refused(name: str) -> None:
    (mistake,) = refusals(user("x", name=name), None)
    assert "lower-case letters" in mistake.message


def test_the_name_of_the_resource_is_the_default():
    assert UserSpec.of(user("my-shop")).user == "my-shop"
    assert refusals(user("my.shop"), None)
    assert not refusals(user("my.shop", name="shop"), None)


BAD_TARGETS = {
    "nothing": "*",
    "a database": "shop",
    "a table of all": "*.t",
    "three": "a.b.c",
    "backtick": "sh`op.*",
    "quote": "shop.'t'",
    "space": "shop. t",
    "comment": "shop/**/.t",
    "upper case": "Shop.*",
    "format": "%s.*",
    "line break": "shop.t\n",
    "long": f"{'a' * 65}.*",
}


@pytest.mark.parametrize("target", BAD_TARGETS.values(), ids=BAD_TARGETS)
def test_targets_of_another_form_are_refused(target: str) -> None:
    (mistake,) = refusals(user("shop", (target, ["Select"])), None)
    assert mistake.field == "spec.privileges[0].target"


@pytest.mark.parametrize(
    ("target", "word", "said"),
    [
        ("shop.*", "CreateDatabase", 'grant it on "*.*"'),
        ("shop.t", "CreateTable", 'grant it on "shop.*"'),
        ("shop.t", "ShowTables", 'grant it on "shop.*"'),
        ("shop.*", "Everything", "must be one of Select"),
        ("shop.*", "select", "must be one of Select"),
        *(
            (f"{name}.*", "Insert", f"only Select can be granted on {name}")
            for name in sorted(names.SYSTEM_DATABASES)
        ),
        ("mo_catalog.mo_user", "Update", "only Select can be granted on mo_catalog"),
    ],
)
def test_privileges_where_they_cannot_be_granted_are_refused(target, word, said):
    (mistake,) = refusals(user("shop", (target, [word])), None)
    assert mistake.field == "spec.privileges[0].grant[0]"
    assert said in mistake.message


@pytest.mark.parametrize("target", [f"{name}.*" for name in sorted(names.SYSTEM_DATABASES)])
def test_databases_of_matrixone_can_be_read(target: str) -> None:
    assert len(spec_of((target, ["Select"])).grants) == 2


@pytest.mark.parametrize("word", LEVELS)
def test_words_and_privileges_are_the_same(word: str) -> None:
    assert as_word(as_sql(word)) == word
    (found,) = grants_of("", "*.*", [word])
    assert (found.level, found.privilege) == (LEVELS[word], as_sql(word))


def test_the_schema_lists_the_same_privileges_and_reserved_names():
    (kind,) = (
        one for one in Sources(ROOT / "crds" / "schema").kinds() if one.name == "DatabaseUser"
    )
    spec = kind.schema["properties"]["spec"]["properties"]
    listed = spec["privileges"]["items"]["properties"]["grant"]["items"]["enum"]
    assert listed == list(LEVELS)
    (rule,) = spec["name"]["x-kubernetes-validations"]
    assert set(re.findall(r"'(\w+)'", rule["rule"])) == {*RESERVED, "matrixorigin_user_"}


@given(st.text(max_size=20))
def test_no_text_becomes_a_place_that_could_end_its_quotes(text: str) -> None:
    try:
        place = Place.of("", text)
    except InvalidSpec:
        return
    assert str(place) == text
    assert re.fullmatch(r"[a-z0-9_$-]*", place.database + place.table)


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8) | st.none()))
def test_a_spec_of_any_shape_is_read_or_refused(fields: dict[str, Any]) -> None:
    resource = user()
    resource["spec"] |= fields
    refusals(resource, None)


def test_privileges_are_shown_by_place():
    found = spec_of(("shop.*", ["Update", "CreateTable"]), ("*.*", ["Select"]), ("a.t", ["Index"]))
    assert shown(found.grants) == ["*.*: Select", "a.t: Index", "shop.*: CreateTable, Update"]
    assert Level.TABLE in {one.level for one in found.grants}


@pytest.mark.parametrize(
    ("target", "count"),
    [("*.*", 1), ("mo_catalog.*", 1), ("mo_catalog.mo_user", 1), ("mo_catalog.mo_role", 0),
     ("shop.*", 0)],
)  # fmt: skip
def test_whoever_can_read_hashes_of_passwords_is_warned_of(target: str, count: int) -> None:
    found = warnings_of(user("shop", (target, ["Select"])))
    assert len(found) == count
    assert all("hashes" in one for one in found)
    assert warnings_of(user("shop", name="root")) == []
