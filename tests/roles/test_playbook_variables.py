# SPDX-License-Identifier: Apache-2.0
"""Variables of playbooks that have a name which Jinja gives to something of its own."""

import re

import jinja2.defaults
import pytest

from tests.support.places import ROOT

FILES = sorted([*(ROOT / "playbooks").glob("*.yml"), *(ROOT / "roles").glob("*/**/*.yml")])
OWN = "|".join(jinja2.defaults.DEFAULT_NAMESPACE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_name_of_jinja_has_no_default(path) -> None:
    """``namespace | default(omit)`` is a class of Jinja when the variable is not given."""
    assert re.findall(rf"(?<![\w.])(?:{OWN}) *\| *default", path.read_text()) == []
