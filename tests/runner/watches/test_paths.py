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
        ("role", {}, ["/srv/roles/role"]),
        (
            "role",
            {"ANSIBLE_ROLES_PATH": "/a:/b"},
            ["/a/role", "/a/roles/role", "/b/role", "/b/roles/role", "/srv/roles/role"],
        ),
        (
            "ns.col.role",
            {"HOME": "/home/me"},
            [
                "/usr/share/ansible/collections/ansible_collections/ns/col/roles/role",
                "/home/me/.ansible/collections/ansible_collections/ns/col/roles/role",
                "/srv/roles/ns.col.role",
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


def test_what_is_not_found_stays_as_written() -> None:
    assert resolve("", "nope", CWD, {}).role == "nope"
    assert resolve("a.yml", "", CWD, {}).playbook == "/srv/a.yml"
    assert resolve("/x/a.yml", "", CWD, {}).playbook == "/x/a.yml"
