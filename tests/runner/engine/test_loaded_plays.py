# SPDX-License-Identifier: Apache-2.0
"""Plays of roles that shared processes keep: when one is played again, and when it is loaded anew.

What is loaded is emptied behind the back of a process where its play must have been kept.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import RoleTarget
from tests.runner.engine.conftest import Played, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")


def say(name: str, message: str) -> str:
    """A task that prints a message."""
    return f'- name: {name}\n  ansible.builtin.debug: {{msg: "{message}"}}\n'


def said(played: Played) -> dict[str, str]:
    """What tasks have printed."""
    return {name: result.get("msg", "") for name, result in played.results().items()}


def output(played: Played) -> str:
    """What was printed, without the lines of role files that newer releases show with an error."""
    return re.sub(r"\nOrigin: .*?\nfatal:", "\nfatal:", played.result.stdout, flags=re.DOTALL)


def ids(played: Played, name: str) -> list[str]:
    """The ids that events mention, in order."""
    found = (event["event_data"].get(name) for event in played.events)
    return list(dict.fromkeys(identity for identity in found if identity))


OTHER = {"tasks/main.yml": say("Other", "other")}
ALL_KINDS = {
    "defaults/main.yml": "words: [a, b]",
    "vars/main.yml": "word: c",
    "handlers/main.yml": say("Handle", "handled") + "- ansible.builtin.import_tasks: more.yml\n",
    "handlers/more.yml": say("Handle more", "handled more"),
    "tasks/imported.yml": say("Imported", "{{ word }}"),
    "tasks/main.yml": """
        - ansible.builtin.import_tasks: imported.yml
        - ansible.builtin.import_role: {name: other}
        - name: Changes
          ansible.builtin.debug: {msg: "{{ item }}"}
          changed_when: true
          loop: "{{ words }}"
          notify: [Handle, Handle more]
        - block:
            - name: Fails
              ansible.builtin.fail: {msg: no}
          rescue:
            - ansible.builtin.import_tasks: imported.yml
          always:
            - block:
                - name: Always
                  ansible.builtin.debug: {msg: nested}
        - name: Skips
          ansible.builtin.debug:
          when: false
        """,
}


async def test_a_kept_play_does_what_it_did_with_ids_of_its_own(kept: Stage) -> None:
    kept.role(OTHER, "other")
    first, *later = await kept.play_kept(kept.role(ALL_KINDS), {}, {}, {})

    assert first.result.rc == 0, first.result.stdout
    assert {"Imported", "Other", "Handle", "Handle more", "Always"} <= set(said(first))
    for played in later:
        assert (first.names, output(first)) == (played.names, output(played))
        assert said(first) == said(played)
    for name in ("uuid", "task_uuid", "play_uuid", "playbook_uuid"):
        found = [ids(played, name) for played in (first, *later)]
        assert len({len(identities) for identities in found}) == 1
        assert len({one for identities in found for one in identities}) == 3 * len(found[0])


async def test_a_kept_play_has_the_playbook_of_its_run(kept: Stage) -> None:
    role = kept.role({"tasks/main.yml": say("Where", "{{ playbook_dir }}")})
    for played in await kept.play_kept(role, {}, {}):
        playbook = Path(played.of("playbook_on_start")[0]["playbook"])
        assert said(played) == {"Where": str(playbook.parent)}
        assert played.directory / "project" == playbook.parent


OUTSIDE = "../shared/tasks.yml"
CHANGED = {
    "defaults/main.yml": "default: old",
    "vars/main.yml": "variable: old",
    "meta/main.yml": "argument_specs: {main: {short_description: old}}",
    "handlers/main.yml": say("Handle", "old"),
    OUTSIDE: say("Outside", "old"),
    "tasks/imported.yml": say("Imported", "old"),
    "tasks/main.yml": f"""
        - ansible.builtin.import_tasks: imported.yml
        - ansible.builtin.import_tasks: ../{OUTSIDE}
        - name: Variables
          ansible.builtin.debug: {{msg: "default {{{{ default }}}}, variable {{{{ variable }}}}"}}
        - name: Main
          ansible.builtin.debug: {{msg: old}}
          changed_when: true
          notify: Handle
        """,
}


@pytest.mark.parametrize("path", CHANGED)
async def test_a_changed_file_is_loaded_again(kept: Stage, path: str) -> None:
    role = kept.role(CHANGED)
    first = await kept.play(role)
    kept.role({path: CHANGED[path].replace("old", "new")})
    second = await kept.play(role)

    assert first.pid == second.pid
    before, after = first.result.stdout, second.result.stdout
    assert (before.count("old"), before.count("new")) == (len(CHANGED), 0)
    assert (after.count("old"), after.count("new")) == (len(CHANGED) - 1, 1)


FEW = {
    "tasks/main.yaml": say("Which", "{{ which }}"),
    "defaults/main/some.yml": "which: old",
}
ADDED = {
    "a file that is preferred": ("tasks/main.yml", say("Which", "new")),
    "a file of variables beside others": ("defaults/main/the_last.yml", "which: new"),
    "a folder": ("vars/main.yml", "which: new"),
}


@pytest.mark.parametrize("added", ADDED)
async def test_a_new_file_is_loaded(kept: Stage, added: str) -> None:
    role = kept.role(FEW)
    path, text = ADDED[added]
    first = await kept.play(role)
    kept.role({path: text})
    second = await kept.play(role)
    (role.path / path).unlink()
    third = await kept.play(role)

    assert first.pid == second.pid == third.pid
    assert [said(played)["Which"] for played in (first, second, third)] == ["old", "new", "old"]


FILES = {
    f"{folder}/{name}.yml": say("Which", name) for folder in ("tasks", "handlers") for name in "ab"
}
STATIC = {
    "import_tasks": {"tasks/main.yml": "- ansible.builtin.import_tasks: '{{ which }}.yml'\n"},
    "import_tasks below others": {
        "tasks/main.yml": "- block:\n    - ansible.builtin.import_tasks: between.yml\n",
        "tasks/between.yml": "- ansible.builtin.import_tasks: '{{ which }}.yml'\n",
    },
    "import_tasks of handlers": {
        "tasks/main.yml": "- ansible.builtin.command: {cmd: 'true'}\n  notify: Which\n",
        "handlers/main.yml": "- ansible.builtin.import_tasks: '{{ which }}.yml'\n",
    },
    "import_role": {"tasks/main.yml": "- ansible.builtin.import_role: {name: '{{ which }}'}\n"},
    "a file of import_role": {
        "tasks/main.yml": "- ansible.builtin.import_role: {name: a, tasks_from: '{{ which }}'}\n"
    },
}


def write_both(stage: Stage) -> None:
    """Write a role for either name, and the same as files of the first one."""
    for name in "ab":
        stage.role(FILES | {"tasks/main.yml": say("Which", name)}, name)


@pytest.mark.parametrize("static", STATIC)
async def test_a_static_import_by_a_template_is_that_of_the_run(kept: Stage, static: str) -> None:
    write_both(kept)
    role = kept.role(FILES | STATIC[static])
    runs = [await kept.play(role, extra_vars={"which": which}) for which in "aba"]

    assert len({played.pid for played in runs}) == 1
    assert [said(played).get("Which") for played in runs] == ["a", "b", "a"]


DYNAMIC = {
    "include_tasks": "- ansible.builtin.include_tasks: '{{ which }}.yml'\n",
    "include_role": "- ansible.builtin.include_role: {name: '{{ which }}', tasks_from: b}\n",
}


@pytest.mark.parametrize("dynamic", DYNAMIC)
async def test_an_include_by_a_template_is_that_of_the_run(kept: Stage, dynamic: str) -> None:
    for name in "ab":
        kept.role({"tasks/b.yml": say("Which", name)}, name)
    role = kept.role(FILES | {"tasks/main.yml": DYNAMIC[dynamic]})
    runs = await kept.play_kept(role, *({"which": which} for which in "aba"))

    assert [said(played).get("Which") for played in runs] == ["a", "b", "a"]


WARNING = {
    "a key that is there twice": {"tasks/main.yml": say("Say", "a") + "  vars: {a: 1, a: 2}\n"},
    "a file without tasks": {
        "tasks/main.yml": "- ansible.builtin.import_tasks: empty.yml\n",
        "tasks/empty.yml": "",
    },
}


@pytest.mark.parametrize("warning", WARNING)
async def test_a_warning_while_loading_is_printed_in_each_run(kept: Stage, warning: str) -> None:
    role = kept.role(WARNING[warning])
    runs = [await kept.play(role) for _ in range(3)]

    assert len({played.pid for played in runs}) == 1
    assert [played.names.count("warning") for played in runs] == [1, 1, 1]
    assert len({played.result.stdout for played in runs}) == 1


USES = {
    "import_role": {"tasks/main.yml": "- ansible.builtin.import_role: {name: other}\n"},
    "dependencies": {"meta/main.yml": "dependencies: [other]\n", "tasks/main.yml": ""},
    "dependencies of dependencies": {"meta/main.yml": "dependencies: [between]\n"},
}


@pytest.mark.parametrize("use", USES)
async def test_a_role_that_is_used_is_played_each_time_and_loaded_again(
    kept: Stage, use: str
) -> None:
    kept.role(OTHER, "other")
    kept.role({"meta/main.yml": "dependencies: [other]\n"}, "between")
    own = USES[use].get("tasks/main.yml", "") + say("Own", "own")
    role = kept.role(USES[use] | {"tasks/main.yml": own})
    runs = [await kept.play(role) for _ in range(2)]
    kept.role({"tasks/main.yml": say("Other", "changed")}, "other")
    runs += [await kept.play(role) for _ in range(2)]

    assert len({played.pid for played in runs}) == 1
    both = {"Other": "other", "Own": "own"}
    changed = both | {"Other": "changed"}
    assert [said(played) for played in runs] == [both, both, changed, changed]


async def test_a_role_that_comes_to_take_precedence_is_loaded(kept: Stage) -> None:
    far = kept.write(say("Other", "far"), "far/other/tasks/main.yml").parents[2]
    role = kept.role({"tasks/main.yml": "- ansible.builtin.import_role: {name: other}\n"})
    environment = {"ANSIBLE_ROLES_PATH": str(far)}
    first = await kept.play(role, environment=environment)
    kept.role({"tasks/main.yml": say("Other", "near")}, "other")
    second = await kept.play(role, environment=environment)

    assert first.pid == second.pid
    assert (said(first), said(second)) == ({"Other": "far"}, {"Other": "near"})


async def test_handlers_of_an_imported_role_have_ids_of_their_own(kept: Stage) -> None:
    tasks = "- name: Change\n  ansible.builtin.command: {cmd: 'true'}\n  notify: Handle\n"
    kept.role({"tasks/main.yml": tasks, "handlers/main.yml": say("Handle", "handled")}, "other")
    role = kept.role({"tasks/main.yml": "- ansible.builtin.import_role: {name: other}\n"})
    runs = [await kept.play(role) for _ in range(3)]

    assert len({played.pid for played in runs}) == 1
    assert [list(said(played)) for played in runs] == [["Change", "Handle"]] * 3
    assert len({identity for played in runs for identity in ids(played, "task_uuid")}) == 2 * 3


async def test_roles_that_alternate_are_played_each(kept: Stage) -> None:
    """Two of them have the same name, in different folders."""
    one = kept.role({"tasks/main.yml": say("Which", "one")}, "one")
    two = kept.role({"tasks/main.yml": say("Which", "two")}, "two")
    file = kept.write(say("Which", "elsewhere"), "elsewhere/roles/one/tasks/main.yml")
    elsewhere = RoleTarget("one", file.parents[1], gather_facts=False)
    runs = [await kept.play(role) for role in (one, two, elsewhere) * 2]

    assert len({played.pid for played in runs}) == 1
    assert [said(played)["Which"] for played in runs] == ["one", "two", "elsewhere"] * 2


async def test_facts_are_gathered_where_they_are_asked_for(kept: Stage) -> None:
    role = kept.role({"tasks/main.yml": say("Which", "one")})
    orders = [True, False, True]
    runs = [await kept.play(replace(role, gather_facts=gather)) for gather in orders]

    assert len({played.pid for played in runs}) == 1
    assert ["Gathering Facts" in played.results() for played in runs] == orders


VARIANTS: dict[str, Mapping[str, Any]] = {
    "plain": {},
    "verbose": {"verbosity": 2},
    "of a tag": {"command_line": "--tags=only"},
}


async def test_options_of_a_run_are_its_own(kept: Stage) -> None:
    role = kept.role(
        {
            "tasks/main.yml": "- ansible.builtin.import_tasks: tagged.yml\n" + say("Plain", "a"),
            "tasks/tagged.yml": say("Tagged", "b") + "  tags: only\n",
        }
    )
    runs = [await kept.play(role, **options) for options in [*VARIANTS.values()] * 2]

    assert len({played.pid for played in runs}) == 1
    both = ["Tagged", "Plain"]
    assert [list(said(played)) for played in runs] == [both, both, ["Tagged"]] * 2
    shown = ["statically imported" in played.result.stdout for played in runs]
    assert shown == [False, True, False] * 2
