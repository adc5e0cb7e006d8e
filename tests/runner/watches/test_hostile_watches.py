# SPDX-License-Identifier: Apache-2.0
"""Watches files that are none: an error that says so, never a traceback and never a hang."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from ansible_operator.errors import ConfigError
from ansible_operator.watches import load
from ansible_operator.watches.document import parse
from tests.support import hostile

ENTRY = "{version: v1, group: g, kind: K, playbook: p.yml}"


@pytest.mark.parametrize("end", ["---", "---\n", "...\n", "---\n---\n", "---\n# nothing\n"])
def test_a_document_may_end_as_kubectl_prints_it(end: str) -> None:
    assert parse(f"---\n- {ENTRY}\n{end}") == parse(f"- {ENTRY}")


def test_later_documents_do_not_count() -> None:
    """What sigs.k8s.io/yaml makes of them."""
    assert len(parse(f"- {ENTRY}\n---\n- {ENTRY}\n- {ENTRY}\n")) == 1


@pytest.mark.parametrize("text", ["- &a [*a]", "&a [*a]", "- &a {vars: *a}", "[" * 5000])
def test_what_contains_itself_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="YAML"):
        parse(text)


def test_aliases_of_aliases_are_bounded() -> None:
    lines = ["- &a0 {x: [1]}"]
    lines += [f"- &a{n} {{x: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    with pytest.raises(ConfigError, match="excessive aliasing"):
        parse("\n".join(lines))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100)
@given(hostile.watches_documents())
def test_every_text_is_a_list_of_watches_or_an_error(text: str) -> None:
    try:
        for entry in parse(text):
            assert isinstance(entry, dict)
    except ConfigError as error:
        assert str(error)  # noqa: PT017


@settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=100,
)
@given(hostile.watches_documents())
def test_every_file_is_loaded_or_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "watches.yaml"
    file.write_bytes(text.encode(errors="surrogatepass"))
    for strict in (False, True):
        try:
            load(file, environ={}, cwd=tmp_path, strict=strict)
        except ConfigError as error:
            assert str(error)  # noqa: PT017
