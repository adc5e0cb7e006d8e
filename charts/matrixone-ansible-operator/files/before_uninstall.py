# SPDX-License-Identifier: Apache-2.0
"""Runs in a Job before `helm uninstall`: refuses while there are clusters, or deletes them first.

Uses nothing but Python's standard library, and ends before --seconds are over whatever happens.
Exit code 0: the release may go; 1: it may not, and nothing was deleted.
"""

import argparse
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GROUPS = ("core.matrixorigin.io", "matrixone.matrixorigin.cn")
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LOG_CLAIMS = "matrixorigin.io/component=LogSet"
PAUSE = 1.0
RELEASE_SECONDS = 20  # at the end, for finalizers that nobody takes off

Json = dict[str, Any]


class Refusal(Exception):
    """The release must not be uninstalled now; the message says why and what to do."""


class Kubernetes:
    """The API server, with the rights of a ServiceAccount.

    Args:
        url: of the API server.
        account: folder with `token` and `ca.crt`.
    """

    def __init__(self, url: str, account: Path) -> None:
        self._url = url
        self._account = account
        self._context = ssl.create_default_context(cafile=str(account / "ca.crt"))

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        """Send a request; a JSON merge patch if it is a PATCH. Repeats what fails in passing.

        Raises:
            urllib.error.HTTPError: the API server refuses.
            OSError: it does not answer.
        """
        for attempt in range(5):
            try:
                return self._once(method, path, body)
            except urllib.error.HTTPError as error:
                if error.code not in {409, 429} and error.code < 500:
                    raise
                if attempt == 4:
                    raise
            except OSError:
                if attempt == 4:
                    raise
            time.sleep(PAUSE)
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, body: Json | None) -> Json:
        request = urllib.request.Request(  # noqa: S310  # the URL is the API server's
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {(self._account / 'token').read_text().strip()}",
                "Content-Type": "application/merge-patch+json",
            },
        )
        with urllib.request.urlopen(request, context=self._context, timeout=15) as answer:  # noqa: S310
            answered: Json = json.load(answer)
            return answered


@dataclass(frozen=True)
class Resource:
    """An object of one of the kinds, as it was seen."""

    path: str
    kind: str
    content: Json

    @property
    def name(self) -> str:
        """Kind, namespace and name for people."""
        metadata = self.content["metadata"]
        return f"{self.kind} {metadata['namespace']}/{metadata['name']}"

    @property
    def owned(self) -> bool:
        """Whether it goes with another one."""
        return bool(self.content["metadata"].get("ownerReferences"))

    def synced(self) -> bool:
        """Whether everything was done for the spec that it has now."""
        return any(
            one["type"] == "Synced"
            and one["status"] == "True"
            and one.get("observedGeneration", 0) >= self.content["metadata"]["generation"]
            for one in self.content.get("status", {}).get("conditions", [])
        )


class Resources:
    """All objects of our kinds in the namespaces that the operator looks after.

    Those that are in no namespace are Backups, which outlive databases and operators.

    Args:
        kubernetes: the API server.
        namespaces: the operator's; empty for all.
    """

    def __init__(self, kubernetes: Kubernetes, namespaces: Iterable[str]) -> None:
        self._kubernetes = kubernetes
        self._places = [f"namespaces/{name}/" for name in namespaces] or [""]
        self._kinds = list(self._served())

    def _served(self) -> Iterator[tuple[str, str, str]]:
        """Path of the group and version, plural and kind of each kind."""
        served = {one["name"]: one for one in self._kubernetes.ask("GET", "/apis")["groups"]}
        for group in filter(served.__contains__, GROUPS):
            version = served[group]["preferredVersion"]["groupVersion"]
            listed = self._kubernetes.ask("GET", f"/apis/{version}")["resources"]
            for one in listed:
                if "/" not in one["name"] and "list" in one["verbs"] and one["namespaced"]:
                    yield f"/apis/{version}", one["name"], one["kind"]

    def all(self) -> list[Resource]:
        """What there is now."""
        return [found for served in self._kinds for found in self._of(*served)]

    def _of(self, root: str, plural: str, kind: str) -> Iterator[Resource]:
        for place in self._places:
            for item in self._kubernetes.ask("GET", f"{root}/{place}{plural}")["items"]:
                metadata = item["metadata"]
                path = f"{root}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"
                yield Resource(path, kind, item)

    def claims(self) -> Iterator[Json]:
        """Claims of log services."""
        for place in self._places:
            path = f"/api/v1/{place}persistentvolumeclaims?labelSelector={LOG_CLAIMS}"
            yield from self._kubernetes.ask("GET", path)["items"]

    def claims_that_would_go(self) -> list[str]:
        """Claims of log services that go with their LogSets or StatefulSets."""
        return [
            f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            for claim in self.claims()
            if claim["metadata"].get("ownerReferences")
        ]


def log_service(resource: Resource) -> Json | None:
    """The part of a spec that says what becomes of the log service's data, if it has one."""
    spec: Json = resource.content.get("spec") or {}
    if resource.kind == "MatrixOneCluster":
        return spec.get("logService")
    return spec if resource.kind == "LogSet" else None


def undecided(resource: Resource) -> bool:
    """Whether nobody has said what becomes of its data: it would be deleted."""
    part = log_service(resource)
    if part is None:
        return False
    bucket = (part.get("sharedStorage") or {}).get("s3") or {}
    return not (part.get("pvcRetentionPolicy") or bucket.get("s3RetentionPolicy"))


def deletes(resource: Resource) -> bool:
    """Whether it is said that its claims are to be deleted."""
    part = log_service(resource) or {}
    bucket = (part.get("sharedStorage") or {}).get("s3") or {}
    return bool((part.get("pvcRetentionPolicy") or bucket.get("s3RetentionPolicy")) == "Delete")


def say(text: str) -> None:
    """Write a line into the log, which helm shows."""
    print(text, flush=True)


def listed(resources: Iterable[Resource]) -> str:
    """One line each."""
    return "\n".join(f"  {resource.name}" for resource in resources)


def await_none(what: Callable[[], list[str]], until: float, message: str, hint: str) -> None:
    """Wait until a list is empty.

    Raises:
        Refusal: it is not in time.
    """
    while left := what():
        if time.monotonic() > until:
            raise Refusal(f"{message}: {', '.join(left)}. Nothing was deleted. {hint}")
        time.sleep(PAUSE)


def refuse(resources: Resources, options: argparse.Namespace) -> None:
    """Let the release go only if there is nothing to look after.

    Raises:
        Refusal: there is.
    """
    found = [one for one in resources.all() if not one.owned]
    if not found:
        say("There are no MatrixOne resources: the operator can go.")
        return
    release = f"-n {options.namespace} {options.release}"
    raise Refusal(
        f"The operator is not uninstalled, {len(found)} resources need it:\n{listed(found)}\n"
        "Delete them, then uninstall again. Or let them run on without an operator:\n"
        f"  helm uninstall {release} --no-hooks\n"
        "Or keep the operator; this takes the release out of its state `uninstalling`:\n"
        f"  helm rollback {release} {options.revision}"
    )


def cascade(
    resources: Resources, kubernetes: Kubernetes, options: argparse.Namespace, begun: float
) -> None:
    """Delete everything, volumes of log services excepted.

    Raises:
        Refusal: before anything was deleted.
    """
    found = [one for one in resources.all() if not one.owned]
    if not found:
        say("There are no MatrixOne resources.")
        return
    _require_operator(kubernetes, options)
    _retain(resources, kubernetes, found, begun + options.seconds / 2)
    for one in found:
        say(f"Deleting {one.name}")
        _gone_or(lambda one=one: kubernetes.ask("DELETE", one.path))
    end = begun + options.seconds - RELEASE_SECONDS
    while (left := resources.all()) and time.monotonic() < end:
        time.sleep(PAUSE)
    _release(resources, kubernetes, left)


def _require_operator(kubernetes: Kubernetes, options: argparse.Namespace) -> None:
    path = f"/apis/apps/v1/namespaces/{options.namespace}/deployments/{options.deployment}"
    found = kubernetes.ask("GET", path)
    if not found.get("status", {}).get("readyReplicas"):
        raise Refusal(
            f"The Deployment {options.namespace}/{options.deployment} has no ready Pod, and "
            "deleting clusters needs the operator. Nothing was deleted. Scale it up and wait until "
            "it is Available, or set uninstallPolicy=keep."
        )


def _retain(
    resources: Resources, kubernetes: Kubernetes, found: list[Resource], until: float
) -> None:
    """Have log services keep their volumes where nobody has said otherwise."""
    for one in filter(undecided, found):
        say(f"Keeping the volumes of {one.name}")
        change: Json = {"pvcRetentionPolicy": "Retain"}
        if one.kind == "MatrixOneCluster":
            change = {"logService": change}
        kubernetes.ask("PATCH", one.path, {"spec": change})

    def unready() -> list[str]:
        sets = [one for one in resources.all() if one.kind == "LogSet"]
        return [one.name for one in sets if undecided(one) or not one.synced()]

    hint = "Look at their events, or set uninstallPolicy=keep."
    await_none(unready, until, "These do not know yet that their volumes stay", hint)
    if any(deletes(one) for one in resources.all()):
        return  # somebody wants claims to go; they cannot be told from the others
    message = "These claims would go with their log services"
    await_none(resources.claims_that_would_go, until, message, hint)


def _gone_or(request: Callable[[], Json]) -> None:
    """Send a request about something that may be gone."""
    try:
        request()
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise


def _release(resources: Resources, kubernetes: Kubernetes, left: list[Resource]) -> None:
    """Take the finalizers off what is still there: nobody else will when the operator is gone."""
    for one in left:
        say(f"WARNING: {one.name} is still there; what belongs to it is left to Kubernetes.")
        _gone_or(lambda one=one: kubernetes.ask("DELETE", one.path))
        _gone_or(
            lambda one=one: kubernetes.ask("PATCH", one.path, {"metadata": {"finalizers": None}})
        )
    remaining = resources.all() if left else []
    say("Still there:\n" + listed(remaining) if remaining else "Everything is deleted.")


def arguments() -> argparse.Namespace:
    """What the Job says."""
    server = "https://{}:{}".format(
        os.environ.get("KUBERNETES_SERVICE_HOST", "kubernetes.default.svc"),
        os.environ.get("KUBERNETES_SERVICE_PORT", "443"),
    )
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", choices=("refuse", "cascade"), required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--namespace", required=True)
    parser.add_argument("--deployment", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--watched", action="append", default=[])
    parser.add_argument("--server", default=server)
    parser.add_argument("--account", type=Path, default=ACCOUNT)
    return parser.parse_args()


def main() -> int:
    """Check or delete; see the top."""
    begun, options = time.monotonic(), arguments()
    kubernetes = Kubernetes(options.server, options.account)
    try:
        resources = Resources(kubernetes, options.watched)
        if options.policy == "refuse":
            refuse(resources, options)
        else:
            cascade(resources, kubernetes, options, begun)
    except Refusal as refusal:
        say(str(refusal))
        return 1
    except OSError as error:
        detail = error.read().decode(errors="replace") if hasattr(error, "read") else ""
        say(f"The API server cannot be asked: {error} {detail}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
