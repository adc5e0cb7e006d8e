# SPDX-License-Identifier: Apache-2.0
"""Pages are read as their rules say."""

from pathlib import Path

import pytest

from tests.docs.pages import Command, File, PageError, differs, read

PAGE = """\
<!-- session: fake -->
<!-- follows: first.md -->
# Title

<!-- file: a.yaml -->
```yaml
kind: A
```

```console
$ kubectl apply \\
    -f a.yaml
a/a created
$ true
$ kubectl patch -p '[
  {}]'
```

<!-- not run: no registry -->
```console
$ docker push
```

```yaml
kind: Shown
```
"""


def page(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "page.md"
    path.write_text(text)
    return path


def test_files_and_commands_come_in_order(tmp_path: Path) -> None:
    found = read(page(tmp_path, PAGE))
    assert found.session == "fake"
    assert found.follows == "first.md"
    assert found.steps == [
        File(6, "a.yaml", "kind: A\n"),
        Command(11, "kubectl apply \\\n    -f a.yaml", ("a/a created",)),
        Command(14, "true"),
        Command(15, "kubectl patch -p '[\n  {}]'"),
    ]
    assert found.not_run == [(20, "no registry")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```console\n$ true\n```\n", "session"),
        ("<!-- session: fake -->\n```console\nshown\n```\n", "before any command"),
        ("<!-- session: fake -->\n```console\n```\n", "without a command"),
    ],
)
def test_what_breaks_the_rules_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(PageError, match=why):
        read(page(tmp_path, text))


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        (("a  b",), "a b\n", None),
        (("mo  True  …",), "NAME READY AGE\nmo   True    3s\n", None),
        (("mo  True",), "mo True 3s\n", "mo  True"),
        (("a.c",), "abc\n", "a.c"),
    ],
)
def test_shown_output_must_have_been_printed(
    shown: tuple[str, ...], printed: str, missing: str | None
) -> None:
    assert differs(shown, printed) == missing
