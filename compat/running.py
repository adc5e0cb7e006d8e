# SPDX-License-Identifier: Apache-2.0
"""One object's first pass on one runner, in a test bed with fake nodes."""

import json
import shutil
import sys
import time
from pathlib import Path

from bench import cost
from compat.collections import provide
from compat.comparing import Objects
from compat.following import last_seen
from compat.operators import GO, OURS, RunError, base_environment, running, runs_of
from compat.passes import Json, Pass, conditions, events, has_ended, played, status
from compat.recipes import Recipe, definitions
from testbed.api import ApiClient
from testbed.bed import TestBed

NAMESPACE = "compat"
_OTHERS = {
    *("Event", "Pod", "ReplicaSet", "ControllerRevision", "Endpoints", "EndpointSlice"),
    *("Lease", "PodMetrics"),
}
"""Kinds whose objects controllers of the cluster make."""
_GIVEN = {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt"}
_IMAGE_PYTHON, _IMAGE_HOME = b"/usr/local/bin/python3", b"/opt/ansible/"
_DEFINED_SECONDS = 60.0


def first_pass(
    bed: TestBed, project: Path, recipe: Recipe, program: str, folder: Path, seconds: float
) -> Pass:
    """Create the object of a recipe in an empty namespace and wait until its play has ended.

    A play that takes longer counts as far as it came.

    Args:
        bed: where.
        project: folder of the operator.
        recipe: what is asked of it.
        program: the Go runner's; empty for this runner.
        folder: for the files of the pass.
        seconds: that the play may take.

    Raises:
        RunError: the runner ended, or did not begin the play in time.
    """
    name, runs = GO if program else OURS, runs_of(program, folder)
    _define(bed, project)
    bed.kubectl("create", "namespace", NAMESPACE)
    # The Go runner keeps its runs in one place for good.
    shutil.rmtree(_artifacts(runs, recipe.obj), ignore_errors=True)
    environment = _environment(bed, project, recipe, folder)
    with running(program, project, folder, environment) as operator:
        begun, used = time.monotonic(), cost.cpu_seconds(operator.pid)
        create = ("-n", NAMESPACE, "create", "-o", "json", "-f", "-")
        created = json.loads(bed.kubectl(*create, input=json.dumps(recipe.obj)))
        obj = last_seen(ApiClient(bed.kubeconfig), created, begun + seconds, operator.alive)
        took, spent = time.monotonic() - begun, cost.cpu_seconds(operator.pid) - used
        run = _oldest(_artifacts(runs, recipe.obj))
        found = played(events(run), _text(run / "stdout"))
        objects = _objects(bed, recipe.obj["kind"])
    reported = conditions(obj)
    succeeded = reported.get("Successful", "").startswith("True")
    ended = has_ended(obj)
    return Pass(name, took, spent, succeeded, found, reported, objects, ended, status(obj))


def _define(bed: TestBed, project: Path) -> None:
    """Create the CRDs of a project, and wait until their kinds are served."""
    for path in definitions(project):
        bed.kubectl("apply", "--server-side", "-f", str(path))
    deadline = time.monotonic() + _DEFINED_SECONDS
    while time.monotonic() < deadline:
        listed = json.loads(bed.kubectl("get", "crd", "-o", "json"))["items"]
        if all(_is_established(one) for one in listed):
            return
        time.sleep(0.2)
    raise RunError(f"the kinds of {project.name} are not served within {_DEFINED_SECONDS:.0f} s")


def _is_established(definition: Json) -> bool:
    found = (definition.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in found)


def _environment(bed: TestBed, project: Path, recipe: Recipe, folder: Path) -> dict[str, str]:
    collections = provide(project, folder / "collections", recipe.answers, recipe.collections)
    return {
        **base_environment(bed.kubeconfig, folder),
        "WATCH_NAMESPACE": NAMESPACE,
        "ANSIBLE_COLLECTIONS_PATH": str(collections),
        "ANSIBLE_ROLES_PATH": str(project / "roles"),  # in ansible.cfg of the Go runner's image
        **recipe.variables,
    }


def _text(path: Path) -> str:
    """What is in a file; nothing if the play has not come so far."""
    return path.read_text() if path.exists() else ""


def _artifacts(runs: Path, obj: Json) -> Path:
    """The folder with the artifacts of an object's runs."""
    group, _, version = obj["apiVersion"].partition("/")
    below = Path(group, version, obj["kind"], NAMESPACE, obj["metadata"]["name"], "artifacts")
    return runs / below


def _oldest(artifacts: Path) -> Path:
    """The artifacts of the first run.

    Raises:
        RunError: there was none.
    """
    listed = artifacts.iterdir() if artifacts.exists() else ()
    found = [path for path in listed if not path.is_symlink()]
    if not found:
        raise RunError(f"no play has begun: {artifacts} is empty")
    return min(found, key=lambda path: path.stat().st_mtime)


def _objects(bed: TestBed, kind: str) -> Objects:
    """Everything in the namespace that neither the cluster nor the user has made."""
    names = bed.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    text = bed.kubectl("-n", NAMESPACE, "get", ",".join(names), "-o", "json", "--ignore-not-found")
    listed = json.loads(text)["items"] if text else []
    found = {f"{one['kind']}/{one['metadata']['name']}": one for one in listed}
    return {
        name: one
        for name, one in found.items()
        if one["kind"] not in {*_OTHERS, kind} and name not in _GIVEN
    }


def prepared(project: Path, folder: Path) -> Path:
    """Copy a project, which plays may write into; its history and tests stay out.

    Tasks that name the Python or the home of the image, where the project is, get those of here.
    """
    left_out = shutil.ignore_patterns(".git", "molecule", "docs")
    copy = Path(shutil.copytree(project, folder / "project", ignore=left_out))
    here = {_IMAGE_PYTHON: sys.executable.encode(), _IMAGE_HOME: f"{copy}/".encode()}
    for path in (one for suffix in ("yml", "yaml") for one in copy.rglob(f"*.{suffix}")):
        text = found = path.read_bytes()
        for name, place in here.items():
            found = found.replace(name, place)
        if found != text:
            path.write_bytes(found)
    return copy
