# SPDX-License-Identifier: Apache-2.0
"""Every command that the documentation shows is run, or says why it cannot be."""

import re
from pathlib import Path

import pytest

from testbed.bed import TestBed
from tests.docs.pages import Page, read
from tests.docs.sessions import session
from tests.e2e.clusters import ROOT

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
SESSIONS = {name: read(path).session for name, path in PAGES.items()}
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)")


def _of(kind: str) -> list[str]:
    return [name for name, where in SESSIONS.items() if where == kind]


@pytest.mark.api
@pytest.mark.parametrize("name", _of("fake"))
def test_a_page_runs_on_fake_nodes(name: str, fake_testbed: TestBed, tmp_path: Path) -> None:
    with session(fake_testbed, tmp_path) as made:
        made.play(_page(name))


@pytest.mark.node
@pytest.mark.parametrize("name", _of("node"))
def test_a_page_runs_with_the_real_database(
    name: str, real_testbed: TestBed, tmp_path: Path
) -> None:
    with session(real_testbed, tmp_path) as made:
        made.play(_page(name))


def _page(name: str) -> Page:
    return read(PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_a_session_that_exists(name: str) -> None:
    assert SESSIONS[name] in ("", "fake", "node", "elsewhere"), SESSIONS[name]


@pytest.mark.parametrize("name", PAGES)
def test_links_between_pages_lead_somewhere(name: str) -> None:
    page = PAGES[name]
    broken = [
        target
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert not broken, f"{page}: {broken}"
