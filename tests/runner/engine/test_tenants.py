# SPDX-License-Identifier: Apache-2.0
"""Two tenants, one operator: nothing that code of the first run keeps is seen by the second."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ansible_operator.engine import Engine, make_engine
from tests.runner.engine.conftest import Played, Stage

pytestmark = pytest.mark.asyncio(loop_scope="session")
KEEPERS = ("lookup", "filter", "action", "module", "callback")
TASKS = """
- name: lookup
  ansible.builtin.debug: {msg: "{{ lookup('acme.tools.keep', what if keeper == 'lookup' else '') }}"}
- name: filter
  ansible.builtin.debug: {msg: "{{ (what if keeper == 'filter' else '') | acme.tools.keep }}"}
- name: action
  acme.tools.keep_in_action: {what: "{{ what if keeper == 'action' else '' }}"}
- name: module
  acme.tools.keep_in_module: {what: "{{ what if keeper == 'module' else '' }}"}
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def tenants_engine(environment: None) -> AsyncIterator[Engine]:
    """An engine with the callback, as an image enables one for all plays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANSIBLE_CALLBACKS_ENABLED", "acme.tools.keep")
        engine = make_engine("warm")
        await engine.start()
        yield engine
        await engine.stop()


@pytest.fixture
def tenants(tenants_engine: Engine, tmp_path: Path) -> Stage:
    """A stage for that engine."""
    return Stage(tenants_engine, "warm", tmp_path)


def told(played: Played, what: str) -> dict[str, dict[str, Any]]:
    """What each plugin ``found`` before it kept something, or ``kept``, by plugin and place."""
    assert played.result.rc == 0, played.result.stdout
    said = {name: result["msg"] for name, result in played.results().items()}
    lines = played.result.stdout.splitlines()
    said["callback"] = next(line for line in lines if line.startswith("KEEP ")).removeprefix(
        "KEEP "
    )
    parsed = {
        name: json.loads(text) if isinstance(text, str) else text for name, text in said.items()
    }
    assert set(parsed) == set(KEEPERS)
    return {name: one[what] for name, one in parsed.items()}


async def play(stage: Stage, keeper: str = "") -> Played:
    variables = {"keeper": keeper, "what": f"of {keeper}"}
    return await stage.play(stage.tasks(TASKS), extra_vars=variables)


@pytest.mark.parametrize("keeper", KEEPERS)
async def test_the_second_tenant_finds_what_the_first_found(tenants: Stage, keeper: str) -> None:
    before = await play(tenants)
    first = await play(tenants, keeper)
    second = await play(tenants)

    clean = told(before, "found")
    assert told(second, "found") == clean
    kept = told(first, "kept")[keeper]
    unchanged = {place for place in kept if kept[place] == clean[keeper][place]}
    assert unchanged == set(), "the first run has kept nothing there, so nothing was tested"
