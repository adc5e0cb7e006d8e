# SPDX-License-Identifier: Apache-2.0
"""``make render``: prints everything, says clearly what it cannot use."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dev.render import to_yaml
from tests.support import resources as r
from tests.support.places import ROOT


def render(
    *sources: str, text: str | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "dev/render.py"), *sources],
        input=text,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def objects_of(done: subprocess.CompletedProcess[str]) -> list[r.Json]:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def test_tiny_cluster() -> None:
    done = render("examples/tiny-cluster.yaml")
    found = objects_of(done)
    kinds = {o["kind"] for o in found}
    assert {"LogSet", "DNSet", "CNSet", "ProxySet", "StatefulSet", "Deployment", "Service"} <= kinds
    assert done.stdout.startswith(f"# MatrixOneCluster mo leads to {len(found)} objects, and to ")
    assert "Secret mo-credential" in done.stdout.splitlines()[0]
    # Scripts and TOML are readable, and come out as they are in the roles.
    assert "\n  start.sh: |\n    #!/bin/sh\n" in done.stdout
    config = r.config_map([o for o in found if o["metadata"]["name"].startswith("mo-log-")])
    assert config["data"]["start.sh"] == (ROOT / "roles/logset/files/start.sh").read_text()
    assert "&id" not in done.stdout


def test_make_target() -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", "render", "CR=examples/tiny-cluster.yaml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == render("examples/tiny-cluster.yaml").stdout


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.name
)
def test_every_example_of_a_cluster_is_rendered(example: Path) -> None:
    documents = [d for d in yaml.safe_load_all(example.read_text()) if d]
    if {d["kind"] for d in documents} != {"MatrixOneCluster"}:
        return
    assert len(objects_of(render(str(example)))) > 10


def test_sets_find_each_other_among_all_documents() -> None:
    text = yaml.safe_dump_all([r.cnset(), r.proxyset(), r.dnset(), r.webui(), r.logset()])
    workloads = [o for o in objects_of(render("-", text=text)) if o["apiVersion"] == "apps/v1"]
    assert [o["metadata"]["name"] for o in workloads] == [
        "mo-tp-cn", "mo-proxy", "mo-dn", "mo-webui", "mo-log",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "-: holds no object; write a resource of core.matrixorigin.io/v1alpha1"),
        ("a: [", "-: is not valid YAML: while parsing a flow node "),
        ("- 1", "-: is not an object with apiVersion, kind and metadata"),
        ("a: 1\n---\n- 1", "- (document 2): is not an object with apiVersion, kind and metadata"),
        ("kind: Pod\napiVersion: v1", "-: Pod without a name: apiVersion: must be core."),
        (yaml.safe_dump(r.cnset()), "-: CNSet mo-tp: deps.logSet: there is no LogSet prod/mo"),
        (
            yaml.safe_dump(r.cluster(logService={"sharedStorage": {"s3": {"path": ""}}})),
            "-: MatrixOneCluster mo: LogSet mo: spec.sharedStorage.s3.path: must be <bucket>",
        ),
        (yaml.safe_dump({**r.cluster(), "kind": "CNPool"}), "-: CNPool mo: kind: CNPool is not"),
        (yaml.safe_dump({**r.cluster(), "metadata": 5}), "-: MatrixOneCluster without a name: "),
        (yaml.safe_dump({**r.cnset(), "deps": 5}), "-: CNSet mo-tp: deps: must be an object"),
    ],
)
def test_unusable_input_is_one_clear_line(text: str, message: str) -> None:
    done = render("-", text=text)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"render: {message}")
    assert done.stderr.count("\n") == 1


def test_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    done = render(str(tmp_path / "nothing.yaml"))
    assert done.returncode == 1
    assert done.stderr == (
        f"render: {tmp_path}/nothing.yaml: No such file or directory; "
        "give the path of a YAML file\n"
    )


@pytest.mark.parametrize("text", ["y", "N", "1e3", "0o17", "1_000", "08", ".5", "0x1F", "1."])
def test_texts_stay_texts_for_every_yaml_parser(text: str) -> None:
    assert to_yaml([{"a": text}]) == f"---\na: '{text}'\n"


@pytest.mark.parametrize("text", ["yes please", "10Gi", "1.2.3", "e3", "mo-log"])
def test_other_texts_are_not_quoted(text: str) -> None:
    assert to_yaml([{"a": text}]) == f"---\na: {text}\n"


def test_without_a_file_usage_is_shown() -> None:
    done = render()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: make render CR=<file>")


def test_objects_of_other_kinds_and_lists_are_passed_over_and_opened(tmp_path: Path) -> None:
    """As kubectl reads them: a Secret before the cluster, or what `kubectl get -o yaml` prints."""
    cluster = yaml.safe_load((ROOT / "examples/tiny-cluster.yaml").read_text())
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [secret, cluster]}
    alone = render("examples/tiny-cluster.yaml").stdout
    for number, documents in enumerate(([secret, cluster], [listed])):
        source = tmp_path / f"{number}.yaml"
        source.write_text(yaml.safe_dump_all(documents, sort_keys=False))
        done = render(str(source))
        assert (done.returncode, done.stdout, done.stderr) == (0, alone, "")
