# SPDX-License-Identifier: Apache-2.0
"""Which MatrixOne runs: those that are built, and a program that the user brings."""

import shutil
from pathlib import Path

import pytest

from testbed import database
from testbed.database import BUILT, Database, chosen
from testbed.errors import RequirementError
from testbed.images import recipes
from testbed.toolchain import group_of

SHELL = shutil.which("sh") or "/bin/sh"


def program(path: Path, **replaced: str) -> Path:
    """Write a program that runs here, with other names of the libraries that it needs."""
    content = Path(SHELL).read_bytes()
    for old, new in replaced.items():
        name = old.replace("_", ".").encode()
        assert name in content
        assert len(name) == len(new)
        content = content.replace(name, new.encode())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o755)
    return path


def library(folder: Path, name: str) -> Path:
    """Put a library that programs can load into a folder, under another name."""
    found, _ = Database("any").libraries(Path(SHELL))
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(found["libc.so.6"], folder / name))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, BUILT[database.DEFAULT]),
        ({"MATRIXONE": "", "MO_SERVICE": "", "MO_VERSION": ""}, BUILT[database.DEFAULT]),
        ({"MATRIXONE": "2.0"}, BUILT["2.0"]),
        ({"MATRIXONE": "1.3"}, BUILT["1.3"]),
    ],
)
def test_a_release_line_is_chosen_by_its_name(
    environment: dict[str, str], expected: Database
) -> None:
    assert chosen(environment) == expected
    assert group_of(expected.program).name.startswith("matrixone-")
    assert expected.environment() == {}


@pytest.mark.parametrize("line", BUILT)
def test_the_tag_of_a_line_is_a_version_of_it(line: str) -> None:
    """The operator reads the version from there."""
    assert BUILT[line].tag.startswith(f"{line}.")
    assert BUILT[line].image == f"matrixorigin/matrixone:{BUILT[line].tag}"


def test_a_given_program_has_the_tag_of_ones_choice(tmp_path: Path) -> None:
    path = program(tmp_path / "mo-service")
    for line in ({}, {"MATRIXONE": "1.3"}):
        found = chosen({"MO_SERVICE": str(path), "MO_VERSION": "4.2.0-rc1", **line})
        assert found == Database("4.2.0-rc1", given=path)
        assert found.provide() == path
    assert found.image == "matrixorigin/matrixone:4.2.0-rc1"


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("MatrixOne build info:\n  Git commit ID: 0a1b\n  Version: v3.0.18\n", "3.0.18"),
        ("  Version: 2.0.5-hotfix-20250101\n", "2.0.5-hotfix-20250101"),
        ("  Version: \n", ""),
        ("  Version: nightly\n", ""),
        ("  The golang version used to build this binary: go1.22.3\n  Version: \n", ""),
        ("", ""),
    ],
)
def test_a_version_is_read_from_what_the_program_reports(printed: str, version: str) -> None:
    assert database.reported(printed) == version


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"MATRIXONE": "3.0"}, "MATRIXONE=3.0: the test bed builds 2.0 and 1.3"),
        ({"MO_VERSION": "3.0.18"}, "MO_VERSION is the tag for MO_SERVICE, which is not set"),
        ({"MO_SERVICE": "{}/missing"}, "MO_SERVICE: {}/missing does not exist"),
        ({"MO_SERVICE": "{}"}, "MO_SERVICE: {} is not a file"),
        ({"MO_SERVICE": "{}/text"}, "MO_SERVICE: {}/text is not executable: chmod +x {}/text"),
        ({"MO_SERVICE": "{}/script"}, "MO_SERVICE: {}/script is not a program for Linux (ELF)"),
        ({"MO_SERVICE": "{}/silent"}, "MO_SERVICE: {}/silent does not report its version: set MO_V"),
        (
            {"MO_SERVICE": "{}/silent", "MO_VERSION": "v 1"},
            "MO_VERSION: 'v 1' is not the tag of an image, such as 3.0.18",
        ),
        (
            {"MO_SERVICE": "{}/bin/lacking", "MO_VERSION": "3.0.18"},
            "{}/bin/lacking lacks libq.so.6: install it, put it into one of {}/bin, {}/bin/lib, {}/lib",
        ),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_the_remedy(
    environment: dict[str, str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    program(tmp_path / "silent")
    program(tmp_path / "bin" / "lacking", libc_so_6="libq.so.6")
    there = str(tmp_path)
    given = {name: value.replace("{}", there) for name, value in environment.items()}
    with pytest.raises(RequirementError) as refused:
        chosen(given)
    assert str(refused.value).startswith(message.replace("{}", there))


def test_an_upgrade_ends_with_a_program_of_its_own(tmp_path: Path) -> None:
    path = program(tmp_path / "mo-service")
    given = {"UPGRADE_SERVICE": str(path), "UPGRADE_VERSION": "3.0.18"}
    assert database.upgraded({}) is None
    newer = database.upgraded(given)
    assert newer is not None
    assert (newer.tag, newer.given) == ("3.0.18", path)
    with pytest.raises(RequirementError, match="set UPGRADE_VERSION, for example"):
        database.upgraded({"UPGRADE_SERVICE": str(path)})


@pytest.mark.parametrize("folder", ["bin", "bin/lib", "lib"])
def test_libraries_are_found_where_releases_keep_them(tmp_path: Path, folder: str) -> None:
    """They end up where the loader of the image looks, under the names that the program needs."""
    path = program(tmp_path / "bin" / "mo-service", libc_so_6="libq.so.6")
    kept = library(tmp_path / folder, "libq.so.6")

    found = chosen({"MO_SERVICE": str(path), "MO_VERSION": "3.0.18"})

    libraries, loader = found.libraries(path)
    assert libraries["libq.so.6"] == kept
    assert str(kept.parent) in found.environment()["LD_LIBRARY_PATH"].split(":")
    entries = {entry.path: entry.source for entry in recipes.library_entries(libraries, loader)}
    assert loader is not None
    assert entries[str(loader)] == loader
    assert kept in entries.values()
    folders = {Path(path).parent for path, source in entries.items() if source != loader}
    assert len(folders) == 1
