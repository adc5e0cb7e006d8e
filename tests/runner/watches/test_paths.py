# SPDX-License-Identifier: Apache-2.0
"""Where roles and playbooks are looked for."""

from pathlib import Path

import pytest

from ansible_operator.watches.paths import resolve, role_candidates

CWD = Path("/srv")


@pytest.mark.parametrize(
    ("role", "environ", "expected"),
    [
        ("/abs/role", {}, ["/abs/role"]),
        ("role", {}, ["/srv/roles/role", "/srv/role"]),
        (
            "role",
            {"ANSIBLE_ROLES_PATH": "/a:/b"},
            [
                *("/a/role", "/a/roles/role", "/b/role", "/b/roles/role"),
                *("/srv/roles/role", "/srv/role"),
            ],
        ),
        (
            "ns.col.role",
            {"HOME": "/home/me"},
            [
                "/usr/share/ansible/collections/ansible_collections/ns/col/roles/role",
                "/home/me/.ansible/collections/ansible_collections/ns/col/roles/role",
                "/srv/roles/ns.col.role",
                "/srv/ns.col.role",
            ],
        ),
        (
            "ns.col.role",
            {"ANSIBLE_COLLECTIONS_PATH": "/c", "ANSIBLE_ROLES_PATH": "/r"},
            [
                "/c/ansible_collections/ns/col/roles/role",
                "/r/ns.col.role",
                "/r/roles/ns.col.role",
                "/srv/roles/ns.col.role",
                "/srv/ns.col.role",
            ],
        ),
    ],
)
def test_candidates(role: str, environ: dict[str, str], expected: list[str]) -> None:
    assert [str(path) for path in role_candidates(role, CWD, environ)] == expected


def test_the_first_existing_candidate_is_taken(tmp_path: Path) -> None:
    second = tmp_path / "b" / "roles" / "memcached"
    second.mkdir(parents=True)
    environ = {"ANSIBLE_ROLES_PATH": f"{tmp_path}/a:{tmp_path}/b"}
    play = resolve("", "memcached", tmp_path, environ)
    assert (play.role, play.role_name, play.problem) == (str(second), "memcached", "")


def test_a_role_of_a_collection_keeps_its_full_name(tmp_path: Path) -> None:
    folder = tmp_path / "ansible_collections" / "ns" / "col" / "roles" / "role"
    folder.mkdir(parents=True)
    play = resolve("", "ns.col.role", CWD, {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path)})
    assert (play.role, play.role_name) == (str(folder), "ns.col.role")


@pytest.mark.parametrize(
    ("written", "folder", "name"),
    [
        ("roles/thing", "roles/thing", "thing"),
        ("./roles/thing", "roles/thing", "thing"),
        ("roles/thing/", "roles/thing", "thing"),
        ("other/deep/thing", "other/deep/thing", "thing"),
        ("thing", "thing", "thing"),
        ("roles/../thing", "thing", "thing"),
        ("roles/version.1.2", "roles/version.1.2", "version.1.2"),
    ],
)
def test_a_path_starts_in_the_working_folder(
    tmp_path: Path, written: str, folder: str, name: str
) -> None:
    (tmp_path / "roles").mkdir()
    (tmp_path / folder).mkdir(parents=True)
    play = resolve("", written, tmp_path, {})
    assert (play.role, play.role_name, play.problem) == (str(tmp_path / folder), name, "")


def test_a_role_in_roles_goes_before_a_folder_of_its_name(tmp_path: Path) -> None:
    for folder in ("thing", "roles/thing"):
        (tmp_path / folder).mkdir(parents=True)
    assert resolve("", "thing", tmp_path, {}).role == str(tmp_path / "roles" / "thing")


def test_search_paths_may_be_relative(tmp_path: Path) -> None:
    (tmp_path / "more" / "thing").mkdir(parents=True)
    environ = {"ANSIBLE_ROLES_PATH": "more"}
    assert resolve("", "thing", tmp_path, environ).role == str(tmp_path / "more" / "thing")


def test_what_is_not_found_stays_as_written() -> None:
    assert resolve("", "nope", CWD, {}).role == "nope"
    assert resolve("a.yml", "", CWD, {}).playbook == "/srv/a.yml"
    assert resolve("/x/a.yml", "", CWD, {}).playbook == "/x/a.yml"
