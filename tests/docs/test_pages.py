# SPDX-License-Identifier: Apache-2.0
"""Every command that the documentation shows is run, or says why it cannot be."""

import re
import shutil
from pathlib import Path

import pytest

from image.operator import operator_archive
from testbed import lifecycle
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.docs.pages import Page, read
from tests.docs.sessions import session
from tests.support.places import ROOT

DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
SESSIONS = {name: read(path).session for name, path in PAGES.items()}
READMES = [
    ROOT / path
    for path in (
        *("README.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md"),
        *("bench/README.md", "testbed/README.md"),
        *("examples/README.md", "examples/memcached/README.md"),
    )
]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)")
PUBLISHED = re.compile(
    r"\]\(https://github.com/matrixorigin/matrixone-ansible/(?:blob|tree)/main/([^)#\s]*)(?:#([^)]*))?\)"
)
"""Links into the sources, where a page is read outside of them."""
NAMED_PAGE = re.compile(r"(?<![\w./-])([\w-][\w/-]*\.md)\b")
"""A page that a comment names, from the root of the repository or by its name alone."""


def _of(kind: str) -> list[str]:
    """Return the pages of a session, without those that are run before another one."""
    followed = {read(path).follows for path in PAGES.values()}
    return [name for name, where in SESSIONS.items() if where == kind and name not in followed]


@pytest.mark.api
@pytest.mark.timeout(900)  # a page is a dozen playbooks, or all changes of a cluster
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


@pytest.fixture(scope="session")
def operator_image() -> Path:
    """The operator's image, built before a test bed takes its part of the machine."""
    return operator_archive()


@pytest.mark.node
@pytest.mark.timeout(2700)  # six waits of up to 5 minutes, and perhaps the build of the image
@pytest.mark.parametrize("name", _of("s3"))
def test_a_page_runs_with_the_real_database_and_an_object_store(
    name: str,
    operator_image: Path,
    real_testbed: TestBed,
    real_object_store: ObjectStore,
    tmp_path: Path,
) -> None:
    for bucket in ("backups", "databases"):
        shutil.rmtree(real_object_store.make_bucket(bucket))  # of an earlier page
        real_object_store.make_bucket(bucket)
    lifecycle.load_image(str(operator_image), real_testbed.name)
    with session(real_testbed, tmp_path, store=real_object_store) as made:
        page = _page(name)
        if page.follows:
            made.play(_page(page.follows))
        made.play(page)


def _page(name: str) -> Page:
    return read(PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_a_session_that_exists(name: str) -> None:
    assert SESSIONS[name] in ("", "fake", "node", "s3", "elsewhere"), SESSIONS[name]


@pytest.mark.parametrize(
    "page", [*PAGES.values(), *READMES], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [where for where, _ in links if not (page.parent / where).exists()] == []
    within = [((page.parent / where if where else page), part) for where, part in links if part]
    assert [(to.name, part) for to, part in within if part not in _parts(to)] == []


@pytest.mark.parametrize(
    "page", [*PAGES.values(), *READMES], ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_links_into_the_published_sources_lead_somewhere(page: Path) -> None:
    links = PUBLISHED.findall(page.read_text(encoding="utf-8"))
    assert [where for where, _ in links if not (ROOT / where).exists()] == []
    assert [(to, part) for to, part in links if part and part not in _parts(ROOT / to)] == []


def _parts(page: Path) -> set[str]:
    """Names of a page's headings in links, as MyST and code hosts make them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


def test_comments_and_docstrings_name_pages_that_exist() -> None:
    pages = {page.as_posix() for page in _pages()}
    missing = [
        f"{path.relative_to(ROOT)}: {named}"
        for folder in ("plugins", "src", "roles", "faults", "testbed")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".yml"}
        for named in NAMED_PAGE.findall(path.read_text(encoding="utf-8"))
        if not any(f"/{page}".endswith(f"/{named}") for page in pages)
    ]
    assert missing == []


def _pages() -> list[Path]:
    """Paths of all pages of the repository, relative to it."""
    folders = [ROOT / name for name in ("docs", "examples", "bench", "faults", "testbed", "tests")]
    found = [*ROOT.glob("*.md"), *(page for one in folders for page in one.rglob("*.md"))]
    return [page.relative_to(ROOT) for page in found]
