# SPDX-License-Identifier: Apache-2.0
"""Run the program as its Pod does: a process with a task and Secrets in files."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program import (
    main as program,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.progress import (
    Progress,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.program.stores import (
    Mounts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task import jobs, tasks
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Result,
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.interface import (
    ObjectStore,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    S3Location,
)

from testbed import object_store
from tests.support import places

_SECONDS = 240


def keys_of(server: object_store.ObjectStore) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": server.access_key,
        "AWS_SECRET_ACCESS_KEY": server.secret_key,
    }


def bucket(
    server: object_store.ObjectStore, address: str, role: str = "target", kind: str = "minio"
) -> S3Location:
    name, _, prefix = address.partition("/")
    # The database is told the region that the server tells, not this one.
    region = "us-west-2" if kind == "aws" else server.region
    return S3Location(name, prefix, server.endpoint, region, kind, role)


@dataclass
class Ended:
    """What became of a program: its exit code, the last result, and what it wrote."""

    code: int
    result: Result
    errors: str


@dataclass
class Pods:
    """Runs programs in folders below a root, with the keys of a server.

    ``certificates`` are those of the target and the source, ``proof`` what the database proves by
    what it is, ``variables`` those of the Pod.
    """

    root: Path
    keys: Mapping[str, str]
    login: Mapping[str, str] = field(default_factory=dict)
    certificates: Mapping[str, str] = field(default_factory=dict)
    proof: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    numbers: "count[int]" = field(default_factory=count)
    seconds: float = _SECONDS

    def _folder(self, task: Task) -> Path:
        folder = self.root / f"pod{next(self.numbers)}"
        (folder / "task").mkdir(parents=True)
        (folder / "task" / tasks.TASK_KEY).write_text(tasks.task_to_json(task))
        for name, values in (
            ("login", self.login),
            ("tls", self.proof),
            *((role, self.keys) for role in ("target", "source")),
            *((f"{role}-ca", self.certificates) for role in ("target", "source")),
        ):
            (folder / name).mkdir()
            for key, value in values.items():
                (folder / name / key).write_text(f"{value}\n")
        return folder

    def store(self, location: S3Location) -> ObjectStore:
        """Open a location with the keys that the programs have."""
        folder = self._folder(Task(Verb.VERIFY, "store", source=location))
        return Mounts(folder, 1).open(location)

    def mounts(self, task: Task) -> Mounts:
        """Return the Secrets of a new Pod."""
        return Mounts(self._folder(task), task.parallelism)

    def attempt(self, task: Task) -> Ended:
        """Carry a task out in this process, which takes a tenth of the time of another one."""
        progress = Progress(lambda *_: None, time.monotonic() + self.seconds)
        result = program.outcome(task, self.mounts(task), progress)
        written = tasks.result_to_json(result)
        assert not any(secret in written for secret in self.keys.values())
        return Ended(program.exit_code(result), tasks.result_from_json(written), "")

    def start(self, task: Task) -> "subprocess.Popen[str]":
        folder = self._folder(task)
        return subprocess.Popen(
            [sys.executable, "-m", jobs.PROGRAM],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **self.variables,
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(places.COLLECTIONS),
                "MATRIXONE_BACKUP_FOLDER": str(folder),
            },
        )

    def end(self, process: "subprocess.Popen[str]") -> Ended:
        """Wait for a program; no secret of it may be in what it wrote."""
        output, errors = process.communicate(timeout=_SECONDS)
        for secret in (*self.keys.values(), *self.login.values()):
            assert secret not in output + errors or secret == self.login.get("username")
        assert output, errors
        return Ended(process.returncode, tasks.result_from_json(output.splitlines()[-1]), errors)

    def run(self, task: Task) -> Ended:
        return self.end(self.start(task))
