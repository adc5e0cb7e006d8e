# SPDX-License-Identifier: Apache-2.0
"""A shell, a folder and a namespace in which the commands of one page run, one after the other."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from demo.object_storage import BACKED_UP_AS_AWS, dialect
from testbed.bed import TestBed
from testbed.object_store import ObjectStore
from tests.docs.pages import Command, File, Page, differs
from tests.e2e.clusters import Operator
from tests.support.examples import on_a_real_node
from tests.support.places import ROOT

_COMMAND_SECONDS = 420
"""Longer than any command of a page waits by its own timeout, so that its message is seen."""
_STORE_PORT = 7070
STORE = f"http://object-store:{_STORE_PORT}"
"""The object store, as pages name it."""
_END = b"\0"


class Session:
    """Plays a page in one shell, as a reader would; all that a page may use is in its folder."""

    def __init__(
        self, bed: TestBed, folder: Path, namespace: str, store: ObjectStore | None = None
    ) -> None:
        self._store = store
        self._is_real = bed.state.nodes == "real"
        for name in ("crds", "charts", "deploy", "playbooks", "Makefile"):
            if (ROOT / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to(ROOT / name)
        for path in (ROOT / "examples").rglob("*.yaml"):
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(self._adapted(path.read_text()))
        kubeconfig = folder / "kubeconfig"
        content = yaml.safe_load(bed.kubeconfig.read_text())
        for context in content["contexts"]:
            context["context"]["namespace"] = namespace
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(yaml.safe_dump(content))
        programs = folder / "programs"
        programs.mkdir()
        (programs / "kubectl").symlink_to(bed.kubectl_path)
        self._folder = folder
        self._shell = subprocess.Popen(
            ["bash", "-o", "pipefail"],
            cwd=folder,
            env={
                **os.environ,
                **(store.variables() if store else {}),
                "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
                "KUBECONFIG": str(kubeconfig),
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
                "ANSIBLE_HOME": str(folder / "ansible"),
                "ANSIBLE_LOCALHOST_WARNING": "false",
                "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def play(self, page: Page) -> None:
        """Write the files and run the commands of a page; the first that fails ends it."""
        for step in page.steps:
            if isinstance(step, File):
                (self._folder / step.name).write_text(self._adapted(step.content))
            else:
                self._run(page, step)

    def _adapted(self, text: str) -> str:
        """Return a text of a page as this test bed can run it.

        Users have MinIO, which accepts what its server of S3 does not (`demo.object_storage`).
        """
        if not self._is_real:
            return text
        if self._store is not None and dialect(BACKED_UP_AS_AWS) == "aws":
            text = text.replace("type: minio", "type: aws").replace(STORE, self._store.endpoint)
        return on_a_real_node(text)

    def end(self) -> None:
        """Stop the shell and what pages have started in the background."""
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate(timeout=30)

    def _run(self, page: Page, step: Command) -> None:
        assert self._shell.stdin is not None
        text = self._adapted(step.text)
        script = f"{{ {text}\n}} </dev/null 2>&1\nprintf '\\001%d\\0' $?\n"
        self._shell.stdin.write(script.encode())
        self._shell.stdin.flush()
        where = f"{page.path.name}:{step.line}: {text}"
        printed, code = self._answer(where)
        assert code == "0", f"{where}\nended with {code}:\n{printed}"
        missing = differs(tuple(map(self._adapted, step.shown)), printed)
        assert missing is None, f"{where}\ndid not print {missing!r} but:\n{printed}"

    def _answer(self, where: str) -> tuple[str, str]:
        """Return what the command printed, and its exit code."""
        assert self._shell.stdout is not None
        stream = self._shell.stdout.fileno()
        deadline = time.monotonic() + _COMMAND_SECONDS
        answer = b""
        while not answer.endswith(_END):
            ready, _, _ = select.select([stream], [], [], max(0, deadline - time.monotonic()))
            got = os.read(stream, 65536) if ready else b""
            assert got, f"{where}\nhas no end; so far:\n{answer.decode()}"
            answer += got
        printed, code = re.fullmatch(rb"(.*)\x01(\d+)\x00", answer, re.DOTALL).groups()  # type: ignore[union-attr]
        return printed.decode(), code.decode()


@contextmanager
def session(
    bed: TestBed, folder: Path, *, operator: bool = True, store: ObjectStore | None = None
) -> Iterator[Session]:
    """A fresh namespace with the CRDs and, if asked for, an operator that watches it.

    With a store, Pods find it as ``http://object-store:7070``, the shell has its credentials, and
    the operator watches all namespaces, for Backups are in none.
    """
    bed.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds"))
    bed.kubectl(
        *("wait", "--for=condition=Established", "--timeout=60s"),
        *("crd", "-l", "app.kubernetes.io/part-of=matrixone"),
    )
    (folder / "work").mkdir()
    with bed.namespace("docs") as namespace:
        answers = bed.state.nodes == "real"
        period = () if answers else ("0",)
        runs = Operator(bed, namespace, folder, *period, everywhere=store is not None)
        if store:
            bed.kubectl("-n", namespace, "apply", "-f", "-", input=_service_of(store))
        made = Session(bed, folder / "work", namespace, store)
        try:
            if operator:
                runs.start()
            yield made
        finally:
            made.end()
            _delete_clusters(bed, namespace)
            if store:
                bed.kubectl("delete", "backups", "--all", "--timeout=120s")
            runs.end()
            shutil.rmtree(folder / "work")


def _service_of(store: ObjectStore) -> str:
    """Return a Service that leads to a server outside of the cluster."""
    name = {"name": "object-store"}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": name,
        "spec": {"ports": [{"port": _STORE_PORT, "targetPort": store.port}]},
    }
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**name, "labels": {"kubernetes.io/service-name": name["name"]}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [store.address]}],
        "ports": [{"port": store.port}],
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [service, slice_]})


def _delete_clusters(bed: TestBed, namespace: str) -> None:
    for kinds in ("cnclaimset,cnclaim", "cnpool", "matrixone"):
        bed.kubectl("-n", namespace, "delete", kinds, "--all", "--timeout=120s")
