# SPDX-License-Identifier: Apache-2.0
"""A zip with what a maintainer would ask for, without secrets; see `redaction`."""

import contextlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import yaml

from . import redaction
from .errors import KubectlError, PluginError
from .kubectl import Json, Kubectl
from .reading import BACKUPS, GROUP, LABEL, OPERATOR, read, restarts_of
from .status import screen
from .terminal import Style

_OWN: Final = (
    *("matrixoneclusters", "logsets", "dnsets", "cnsets", "proxysets", "webuis", "bucketclaims"),
    *("backupjobs", "backupschedules", "restorejobs", "cnpools", "cnclaims", "cnclaimsets"),
    "databases",
    "databaseusers",
)
_OF_KUBERNETES: Final = (
    *("pods", "services", "endpointslices", "persistentvolumeclaims", "statefulsets"),
    *("deployments", "replicasets", "jobs", "poddisruptionbudgets", "networkpolicies"),
    *("resourcequotas", "limitranges"),
)
_OF_ALL: Final = ("nodes", "persistentvolumes", "storageclasses", BACKUPS)
_TASKS: Final = "app.kubernetes.io/name=matrixone"
"""On the Pods of backups and restores, which are of no cluster."""
_LINES: Final = 5000
"""Of each log."""


@dataclass(frozen=True, slots=True)
class Page:
    """A file of a report.

    Attributes:
        path: in the zip.
        content: reads it.
    """

    path: str
    content: Callable[[], str]


def write(
    kubectl: Kubectl, cluster: Json, folder: Path, now: datetime, say: Callable[[str], None]
) -> Path:
    """Write the report of a cluster; what cannot be read is named in it.

    Args:
        kubectl: with the rights of the user.
        cluster: the MatrixOneCluster.
        folder: where the zip is to be.
        now: the present, in its name.
        say: told what is read.

    Returns:
        The path of the zip, which only the user can read.

    Raises:
        PluginError: it cannot be written.
    """
    metadata = cluster["metadata"]
    name = f"matrixone-{metadata['namespace']}-{metadata['name']}-{now:%Y%m%dT%H%M%SZ}"
    path = folder / f"{name}.zip"
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with (
            _removed_if_unfinished(path),
            os.fdopen(descriptor, "wb") as file,
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            _fill(target, name, _pages(kubectl, cluster, now), say)
    except OSError as error:
        raise PluginError(f"{path} cannot be written: {error.strerror}") from error
    return path


@contextlib.contextmanager
def _removed_if_unfinished(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _fill(
    target: zipfile.ZipFile, name: str, pages: Iterator[Page], say: Callable[[str], None]
) -> None:
    unread: list[str] = []
    for page in pages:
        say(page.path)
        try:
            content = page.content()
        except KubectlError as error:
            unread.append(f"{page.path}: {redaction.text(str(error))}")
        else:
            target.writestr(f"{name}/{page.path}", content)
    target.writestr(f"{name}/not-read.txt", "".join(f"{line}\n" for line in unread))


def _pages(kubectl: Kubectl, cluster: Json, now: datetime) -> Iterator[Page]:
    yield Page("status.txt", lambda: redaction.text(screen(read(kubectl, cluster), now, Style())))
    yield Page("versions.yaml", lambda: kubectl.run("version", "--output=yaml"))
    for kind in (*(f"{one}.{GROUP}" for one in _OWN), *_OF_KUBERNETES, *_OF_ALL):
        yield Page(f"objects/{kind}.yaml", _objects(kubectl, kind))
    yield Page("events.txt", _printed(kubectl, "get", "events", "--sort-by=.lastTimestamp"))
    yield from _logs(kubectl, cluster["metadata"]["name"])
    yield from _operators(kubectl)


def _printed(kubectl: Kubectl, *arguments: str) -> Callable[[], str]:
    return lambda: redaction.text(kubectl.run(*arguments))


def _objects(kubectl: Kubectl, kind: str) -> Callable[[], str]:
    def found() -> str:
        listing = redaction.resource(json.loads(kubectl.run("get", kind, "--output=json")))
        return str(yaml.safe_dump(listing.get("items") or [], sort_keys=False, width=200))

    return found


def _logs(kubectl: Kubectl, cluster: str) -> Iterator[Page]:
    """Yield the logs of all Pods, and of the containers before their last restarts."""
    yield from _logs_of(kubectl, "logs", f"{LABEL}={cluster}")
    yield from _logs_of(kubectl, "logs/tasks", f"{_TASKS},!{LABEL}")


def _operators(kubectl: Kubectl) -> Iterator[Page]:
    """Yield the logs of the operator, in whichever namespace it runs."""
    found = _names(kubectl, "--all-namespaces", f"--selector={OPERATOR}")
    for namespace, pod, _restarts in found:
        place = replace(kubectl, namespace=namespace)
        yield Page(f"operator/{pod}.log", _printed(place, "logs", pod, f"--tail={_LINES}"))


def _logs_of(kubectl: Kubectl, folder: str, selector: str) -> Iterator[Page]:
    options = ("--all-containers", "--timestamps", f"--tail={_LINES}")
    for _namespace, pod, restarts in _names(kubectl, f"--selector={selector}"):
        yield Page(f"{folder}/{pod}.log", _printed(kubectl, "logs", pod, *options))
        if restarts:
            previous = _printed(kubectl, "logs", pod, "--previous", *options)
            yield Page(f"{folder}/{pod}.previous.log", previous)


def _names(kubectl: Kubectl, *arguments: str) -> list[tuple[str, str, int]]:
    """Return namespace, name and restarts of Pods; none where they cannot be read."""
    try:
        items: list[Json] = kubectl.list(["pods"], *arguments).items
    except KubectlError:
        return []
    return [
        (one["metadata"]["namespace"], one["metadata"]["name"], restarts_of(one)) for one in items
    ]
