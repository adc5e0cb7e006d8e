# SPDX-License-Identifier: Apache-2.0
"""Watches files that are none: an error that says so, never a traceback and never a hang."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

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


def test_merges_of_merges_are_bounded() -> None:
    lines = ["- &a0 {a: 1, b: 2}"]
    lines += [f"- &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    began = time.monotonic()
    with pytest.raises(ConfigError, match="excessive aliasing"):
        parse("\n".join(lines))
    assert time.monotonic() - began < 10


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


GOOD = {"version": "v1", "group": "g", "playbook": "p.yml"}
NESTED = {
    "finalizer": ("name", "playbook", "role", "vars", "runTimeout"),
    "selector": ("matchLabels", "matchExpressions"),
    "retry": ("initialDelay", "maxDelay"),
    "probe": ("test", "period", "periodVariable"),
    "admission": ("default", "validate", "operations", "subresources", "failurePolicy"),
}
LISTED = {
    "blacklist": ("group", "version", "kind"),
    "references": ("group", "version", "kind", "name", "namespace", "conditions", "poll"),
    "members": ("group", "version", "kind", "name", "matchLabels", "annotations", "labels", "spec"),
}
PLAIN = (
    "version", "group", "kind", "playbook", "role", "vars", "reconcilePeriod", "runTimeout",
    "reconcilePeriodVariable", "maxRunnerArtifacts", "maxConcurrentReconciles", "manageStatus",
    "watchDependentResources", "watchDependentAnnotations", "snakeCaseParameters", "markUnsafe",
    "ignoreNamespacesVariable", "precheck", "isolation", "reportLastRun", "KIND", "Vars",
)  # fmt: skip
DURATIONS = (
    "",
    "5",
    "-1s",
    "soon",
    "1h2",
    "9" * 400 + "h",
    "1e9s",
    "\u0661s",
    "1\u202es",
    ".s",
    "0x1s",
)
ODD = st.one_of(
    hostile.flat_values,
    st.sampled_from(
        [*DURATIONS, *hostile.STRINGS[:-6], [], {}, [{}], {"": ""}, True, 1.5, "a" * 9000]
    ),
)


@st.composite
def odd_entries(draw: st.DrawFn) -> dict[str, Any]:
    """A good entry with an odd value in one field, at any level."""
    entry: dict[str, Any] = {**GOOD, "kind": "Odd"}
    place = draw(st.sampled_from([*PLAIN, *NESTED, *LISTED]))
    if place in PLAIN:
        return {**entry, place: draw(ODD)}
    inner = {**NESTED, **LISTED}[place]
    value: Any = draw(st.dictionaries(st.sampled_from(inner), ODD, min_size=1, max_size=3))
    if place in LISTED:
        value = [{"version": "v1", "kind": "C", "name": "n", **value}]
    return {**entry, place: draw(st.one_of(st.just(value), ODD))}


@settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=40,
    phases=[Phase.generate],
)
@given(odd_entries(), st.integers(0, 2))
def test_an_entry_is_loaded_or_refused_by_name(
    tmp_path: Path, odd: dict[str, Any], before: int
) -> None:
    """The error names the file and which entry of it, and fits into a log."""
    (tmp_path / "p.yml").write_text("[]")
    entries = [{**GOOD, "kind": f"Good{number}"} for number in range(before)]
    file = tmp_path / "watches.yaml"
    file.write_text(json.dumps([*entries, odd, {**GOOD, "kind": "Last"}]))
    try:
        assert len(load(file, environ={}, cwd=tmp_path)) == before + 2
    except ConfigError as error:
        assert str(error).startswith(f"watches file {file}: entry {before + 1}")  # noqa: PT017
        assert len(str(error)) < 1500  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("reconcilePeriod: soon", "reconcilePeriod: .*soon"),
        ("runTimeout: -1s", "runTimeout must not be negative"),
        ("retry: {initialDelay: 1}", "initialDelay|InitialDelay"),
        ("probe: {test: a.b.c, period: x}", "period: "),
        ("references: [{version: v1, kind: C, name: c, poll: 1x}]", "poll: "),
        ("manageStatus: maybe", "ManageStatus"),
        ("vars: [1]", "Vars"),
        ("maxRunnerArtifacts: .inf", "MaxRunnerArtifacts"),
        ("blacklist: [{group: [1]}]", "Group"),
        ("finalizer: {name: n, runTimeout: forever}", "runTimeout: "),
        ("admission: [1]", "Admission"),
    ],
)
def test_an_error_names_file_entry_and_field(tmp_path: Path, text: str, field: str) -> None:
    (tmp_path / "p.yml").write_text("[]")
    file = tmp_path / "watches.yaml"
    other = ENTRY.replace("kind: K", "kind: Odd").removesuffix("}")
    file.write_text(f"- {ENTRY}\n- {other}, {text}}}\n")
    with pytest.raises(ConfigError, match=rf"^watches file .*: entry 2 \(Odd\): .*({field})"):
        load(file, environ={}, cwd=tmp_path)


def test_a_second_entry_of_a_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text("[]")
    (tmp_path / "watches.yaml").write_text(f"- {ENTRY}\n- {ENTRY}\n")
    with pytest.raises(ConfigError, match=r"entry 2 \(K\): duplicate GVK"):
        load(tmp_path / "watches.yaml", environ={}, cwd=tmp_path)


def test_a_file_that_is_larger_than_any_of_use_is_not_read(tmp_path: Path) -> None:
    """YAML of 30 MB takes minutes and gigabytes."""
    file = tmp_path / "watches.yaml"
    file.write_text(f"- {ENTRY[:-1]}, vars: {{a: {'x' * 30_000_000}}}}}\n")
    began = time.monotonic()
    with pytest.raises(ConfigError, match=r"watches\.yaml: it cannot be read: it is larger than 1"):
        load(file, environ={}, cwd=tmp_path)
    assert time.monotonic() - began < 5


def test_an_endless_file_is_not_read() -> None:
    with pytest.raises(ConfigError, match="larger than"):
        load(Path("/dev/zero"), environ={})


def test_what_is_wrong_is_not_quoted_without_end(tmp_path: Path) -> None:
    (tmp_path / "p.yml").write_text("[]")
    file = tmp_path / "watches.yaml"
    file.write_text(f"- {ENTRY[:-1]}, reconcilePeriod: {'9' * 100_000}s}}\n")
    with pytest.raises(ConfigError, match="reconcilePeriod") as caught:
        load(file, environ={}, cwd=tmp_path)
    assert len(str(caught.value)) < 1500
