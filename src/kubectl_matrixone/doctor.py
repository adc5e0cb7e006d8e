# SPDX-License-Identifier: Apache-2.0
"""What would keep a cluster from working here: looked for before anything is created."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from .errors import KubectlError
from .kubectl import Json, Kubectl, table_in
from .reading import CLUSTER, GROUP, OPERATOR, moment

_LEAST: Final = (1, 29)
"""Kubernetes that the operator needs, see docs/versions.md."""
_KINDS: Final = ("matrixoneclusters", "logsets", "dnsets", "cnsets", "proxysets", "bucketclaims")
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_SKEW_SECONDS: Final = 30.0
"""Beyond it, certificates and leases begin to fail, and ages in a status are wrong."""
_RIGHTS: Final = (
    ("get", CLUSTER, ""),
    ("create", CLUSTER, ""),
    ("patch", CLUSTER, ""),
    ("get", "secrets", "needed by sql"),
    ("create", "pods/portforward", "needed by sql"),
    ("get", "pods/log", "needed by logs and report"),
)


class Verdict(StrEnum):
    """What a check came to."""

    GOOD = "ok"
    WARNING = "warning"
    BAD = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes:
        name: of the check.
        verdict: what it came to.
        message: what was found, and what to do if it is not good.
    """

    name: str
    verdict: Verdict
    message: str


def examine(kubectl: Kubectl) -> Iterator[Finding]:
    """Yield what each check came to; one that the user may not make is unknown."""
    checks: dict[str, Callable[[Kubectl], Iterator[tuple[Verdict, str]]]] = {
        "Kubernetes": _version,
        "Kinds": _kinds,
        "Operator": _operator,
        "Nodes": _nodes,
        "Volumes": _storage_classes,
        "Quota": _quotas,
        "Clock": _clock,
        "Rights": _rights,
    }
    for name, check in checks.items():
        try:
            for verdict, message in check(kubectl):
                yield Finding(name, verdict, message)
        except KubectlError as error:
            yield Finding(name, Verdict.UNKNOWN, str(error))


def _version(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    text = kubectl.run("version", "--output=json")
    server = str(table_in(json.loads(text), "serverVersion").get("gitVersion") or "")
    found = re.match(r"v?(\d+)\.(\d+)", server)
    if found is None:
        yield Verdict.UNKNOWN, f"the API server names no version: {server!r}"
    elif tuple(map(int, found.groups())) < _LEAST:
        needed = ".".join(map(str, _LEAST))
        yield Verdict.BAD, f"{server}; the operator needs {needed} or newer"
    else:
        yield Verdict.GOOD, server


def _kinds(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    text = kubectl.run("api-resources", f"--api-group={GROUP}", "--output=name", "--cached=false")
    missing = [kind for kind in _KINDS if f"{kind}.{GROUP}" not in text.split()]
    if missing:
        yield Verdict.BAD, f"not installed: {', '.join(missing)}; install the operator's CRDs"
    else:
        yield Verdict.GOOD, f"the kinds of {GROUP} are installed"


def _operator(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    items = kubectl.list(["deployments"], "--all-namespaces", f"--selector={OPERATOR}").items
    if not items:
        yield Verdict.WARNING, "no Deployment of the operator; a process elsewhere may do its work"
    for one in items:
        title = f"Deployment {one['metadata']['namespace']}/{one['metadata']['name']}"
        available = int(table_in(one, "status").get("availableReplicas") or 0)
        wanted = table_in(one, "spec").get("replicas", 1)
        shown = f"{title}: {available} of {wanted} Pods are available"
        yield (Verdict.GOOD if available else Verdict.BAD), shown


def _nodes(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    items = kubectl.list(["nodes"]).items
    ready = [
        one for one in items if _is_ready(one) and not table_in(one, "spec").get("unschedulable")
    ]
    shown = f"{len(ready)} of {len(items)} take Pods"
    if not ready:
        yield Verdict.BAD, shown
    elif len(ready) < 3:
        yield (
            Verdict.WARNING,
            f"{shown}; with fewer than 3, the loss of one can stop the log service",
        )
    else:
        yield Verdict.GOOD, shown


def _is_ready(node: Json) -> bool:
    conditions = table_in(node, "status").get("conditions") or []
    return any(one["type"] == "Ready" and one.get("status") == "True" for one in conditions)


def _storage_classes(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    items = kubectl.list(["storageclasses"]).items
    default = [one for one in items if _annotations(one).get(_DEFAULT_CLASS) == "true"]
    if not items:
        yield Verdict.BAD, "there is no StorageClass: log stores and transaction nodes need volumes"
    elif not default:
        names = ", ".join(one["metadata"]["name"] for one in items)
        yield Verdict.WARNING, f"no StorageClass is the default; name one in volumes: {names}"
    for one in default:
        name = one["metadata"]["name"]
        if one.get("allowVolumeExpansion"):
            yield Verdict.GOOD, f"StorageClass {name} is the default, and its volumes can grow"
        else:
            yield Verdict.WARNING, f"volumes of the default StorageClass {name} cannot grow"


def _quotas(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    items = kubectl.list(["resourcequotas"]).items
    if not items:
        yield Verdict.GOOD, "the namespace has no quota"
    for one in items:
        status = table_in(one, "status")
        hard, used = table_in(status, "hard"), table_in(status, "used")
        full = [name for name, most in hard.items() if str(used.get(name)) == str(most)]
        shown = ", ".join(f"{name} {used.get(name, '?')}/{most}" for name, most in hard.items())
        verdict = Verdict.BAD if full else Verdict.WARNING
        yield (
            verdict,
            f"ResourceQuota {one['metadata']['name']}: {shown}; Pods beyond it are refused",
        )


def _clock(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    """Compare the clocks by an object that the API server stamps, and does not store."""
    before = datetime.now(UTC)
    arguments = ("create", "configmap", "kubectl-matrixone-clock", "--dry-run=server")
    stamped = json.loads(kubectl.run(*arguments, "--output=json"))["metadata"]
    there = moment(stamped.get("creationTimestamp"))
    if there is None:
        yield Verdict.UNKNOWN, "the API server does not tell the time"
        return
    skew = abs((there - before).total_seconds())
    if skew > _SKEW_SECONDS:
        yield Verdict.WARNING, f"the API server's differs from this machine's by {skew:.0f} seconds"
    else:
        yield Verdict.GOOD, "that of the API server is that of this machine"


def _rights(kubectl: Kubectl) -> Iterator[tuple[Verdict, str]]:
    lacking = []
    for verb, resource, purpose in _RIGHTS:
        try:
            kubectl.run("auth", "can-i", verb, resource, "--quiet")
        except KubectlError:
            lacking.append(f"{verb} {resource}" + (f" ({purpose})" if purpose else ""))
    if lacking:
        yield Verdict.WARNING, f"you may not {', '.join(lacking)} in this namespace"
    else:
        yield Verdict.GOOD, "all commands of this plugin are allowed to you in this namespace"


def _annotations(one: Json) -> Json:
    return table_in(one["metadata"], "annotations")
