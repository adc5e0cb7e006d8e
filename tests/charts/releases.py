# SPDX-License-Identifier: Apache-2.0
"""helm as a user types it, and the charts that it is given."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from testbed import building
from testbed.bed import TestBed
from tests.support.places import ROOT

OPERATOR = ROOT / "charts" / "matrixone-ansible-operator"
CLUSTER = ROOT / "charts" / "matrixone"
_SECONDS = 400
_SERVED = '{.items[*].status.conditions[?(@.type=="Established")].status}'

Json = dict[str, Any]
Heard = Callable[[Sequence[str | Path], str, float], None]


class HelmError(Exception):
    """helm ended with an error; the message is all that it said."""


@dataclass(frozen=True)
class Helm:
    """The program, with a home folder of its own.

    Attributes:
        home: for its caches.
        kubeconfig: of the cluster, if there is one.
        heard: told of each command, what it printed and how many seconds it took.
    """

    home: Path
    kubeconfig: Path | None = None
    heard: Heard | None = None

    def __call__(self, *arguments: str | Path) -> str:
        """Run it and return what it prints.

        Raises:
            HelmError: it failed.
        """
        program = building.provide(["helm"])["helm"]
        known = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
        environment = {**known, "HOME": str(self.home)}
        if self.kubeconfig:
            environment["KUBECONFIG"] = str(self.kubeconfig)
        begun = time.monotonic()
        result = subprocess.run(
            [program, *map(str, arguments)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        if self.heard:
            output = result.stdout + result.stderr
            self.heard(["helm", *arguments], output, time.monotonic() - begun)
        if result.returncode:
            raise HelmError(result.stdout + result.stderr)
        return result.stdout

    def template(
        self, chart: Path, *values: str, name: str = "rel", space: str = "ns", crds: bool = False
    ) -> list[Json]:
        """Render a chart; every document, hooks and tests included, CRDs only if asked for."""
        asked = values if crds or chart != OPERATOR else ("crds.enabled=false", *values)
        sets = [part for value in asked for part in ("--set", value)]
        rendered = self("template", name, chart, "-n", space, *sets)
        return [one for one in yaml.load_all(rendered, yaml.CSafeLoader) if one]

    def list(self, namespace: str) -> list[Json]:
        """Return the releases of a namespace."""
        listed: list[Json] = json.loads(self("list", "-n", namespace, "-o", "json"))
        return listed


def find(documents: Iterable[Json], kind: str, name: str = "") -> Json:
    """Return the one document of a kind, and name if one is given."""
    found = [
        one for one in documents if one["kind"] == kind and name in {"", one["metadata"]["name"]}
    ]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


def kinds(documents: Iterable[Json]) -> list[str]:
    """Return the kinds of documents, sorted, CRDs left out."""
    return sorted(one["kind"] for one in documents if one["kind"] != "CustomResourceDefinition")


def earlier(folder: Path) -> Path:
    """Make an earlier version of the operator's chart.

    Nothing was released yet, so that this is the present chart with a lower version, by the name
    that it once had, and with a field less in one of its CRDs (`spec.webui` of MatrixOneCluster).
    """
    chart = folder / OPERATOR.name
    shutil.copytree(OPERATOR, chart)
    facts = chart / "Chart.yaml"
    version = yaml.safe_load(facts.read_text())["version"]
    text = facts.read_text().replace(f": {version}", ": 0.0.9")
    facts.write_text(text.replace("matrixone-ansible-operator", "matrixone-operator"))
    path = chart / "files" / "crds" / "core.matrixorigin.io_matrixoneclusters.yaml"
    crd = yaml.safe_load(path.read_text())
    [served] = crd["spec"]["versions"]
    spec = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del spec["properties"]["webui"]
    spec.pop("x-kubernetes-validations", None)
    served["schema"]["openAPIV3Schema"].pop("x-kubernetes-validations", None)
    path.write_text("---\n" + yaml.safe_dump(crd, sort_keys=False))
    return chart


def define(bed: TestBed, *paths: Path) -> None:
    """Apply CRDs and wait until their kinds are served."""
    files = [part for path in paths for part in ("-f", str(path))]
    made = bed.kubectl("apply", "--server-side", "--force-conflicts", *files, "-o", "name").split()
    deadline = time.monotonic() + 60
    # kubectl wait takes a CRD that has no conditions yet for an error.
    while bed.kubectl("get", *made, "-o", f"jsonpath={_SERVED}").split().count("True") < len(made):
        assert time.monotonic() < deadline
        time.sleep(0.2)
