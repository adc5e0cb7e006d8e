# SPDX-License-Identifier: Apache-2.0
"""How fast the program of the backup Jobs verifies, restores and deletes, beside a plain copy tool.

python -m bench.backups [--mebibytes 1024] [--aws PROGRAM]

A backup of files of 1 KiB to 64 MiB is written once to a folder and once to an S3 server on this
machine. Each task runs as in a Pod, in a process of its own; the plain tool moves the same bytes
between the same places: cp with sync, and cat, for folders, the AWS CLI for buckets if it is given.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import cost
from bench.peers import ROOT
from testbed import object_store

# The collection is where `make venv` links it.
sys.path.append(str(ROOT / ".collections"))

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.tasks import (
    Task,
    Verb,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore import (
    folder as folders,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.location.locations import (
    FolderLocation,
    Location,
)

from tests.backup.program import written
from tests.backup.program.pods import Pods, bucket, keys_of

_SMALLEST, _LARGEST = 10, 26
"""Powers of two: 1 KiB and 64 MiB."""
_EACH = 128
"""MiB of a backup that has one file of every size, roughly."""
_SECONDS = 1800.0
BACKUP = "full"


class Files(Mapping[str, bytes]):
    """Files of all sizes, made when they are asked for, always the same.

    Args:
        mebibytes: their size together, roughly.
    """

    def __init__(self, mebibytes: int) -> None:
        each = max(1, mebibytes // _EACH)
        self._sizes = {
            f"{1 << power:08}-{number}": 1 << power
            for power in range(_SMALLEST, _LARGEST + 1)
            for number in range(each)
        }

    def __getitem__(self, path: str) -> bytes:
        return random.Random(path).randbytes(self._sizes[path])  # noqa: S311

    def __iter__(self) -> Iterator[str]:
        return iter(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(self._sizes.values())


@dataclass(frozen=True, slots=True)
class Case:
    """A task, and what moves the same bytes without it.

    Attributes:
        title: of its line.
        task: of the program.
        plain: commands of the plain tool; none where there is none.
    """

    title: str
    task: Task
    plain: Sequence[str] = ()


def cases(folder: Path, server: object_store.ObjectStore, aws: str | None) -> list[Case]:
    """Return all cases, in an order in which each finds what it needs."""
    source, restored, plain = (folder / name for name in ("backup", "restored", "plain"))
    here = _folder(source)
    there: Location = bucket(server, f"backups/{BACKUP}", "source")

    def restore(title: str, origin: Location, target: Location, *command: str) -> Case:
        task = Task(Verb.RESTORE, title, source=origin, target=target, expected_id=BACKUP)
        return Case(title, task, command)

    def verify(title: str, origin: Location, *command: str) -> Case:
        return Case(title, Task(Verb.VERIFY, title, source=origin, expected_id=BACKUP), command)

    def s3(*arguments: str) -> tuple[str, ...]:
        return (aws, "s3", *arguments, "--recursive", "--only-show-errors") if aws else ()

    from_bucket = f"s3://backups/{BACKUP}/"
    return [
        verify("verify in a folder", here, "sh", "-c", f"cat {source}/tae/* >/dev/null"),
        restore(
            "restore: folder to folder",
            here,
            _folder(restored),
            *("sh", "-c", f"cp -r {source} {plain} && sync -f {plain}"),
        ),
        verify("verify in a bucket", there, *s3("cp", from_bucket, f"{folder}/read/")),
        restore(
            "restore: bucket to folder",
            there,
            _folder(folder / "fetched"),
            *s3("cp", from_bucket, f"{folder}/plainly/"),
        ),
        restore(
            "restore: folder to bucket",
            here,
            bucket(server, "data/sent"),
            *s3("cp", f"{source}/", "s3://data/plain/"),
        ),
        restore(
            "restore: bucket to bucket",
            there,
            bucket(server, "data/copied"),
            *s3("cp", from_bucket, "s3://data/copiedplainly/"),
        ),
        Case(
            "delete in a bucket",
            Task(
                Verb.DELETE,
                "delete",
                target=bucket(server, f"backups/{BACKUP}"),
                expected_id=BACKUP,
            ),
            s3("rm", "s3://data/copiedplainly/"),
        ),
    ]


def _folder(path: Path) -> Location:
    return FolderLocation(str(path), str(path))


@dataclass(frozen=True, slots=True)
class Measures:
    """What a case took once: seconds and MiB; ``plain_seconds`` is 0 without a plain tool."""

    seconds: float
    peak_mib: float
    plain_seconds: float = 0.0


def measure(case: Case, pods: Pods, environment: Mapping[str, str]) -> Measures:
    """Run a case: the program first, then the plain tool.

    Raises:
        RuntimeError: one of them failed.
    """
    began = time.monotonic()
    process = pods.start(case.task)
    with cost.Peak(process.pid) as peak:
        ended = pods.end(process)
    seconds, plain = time.monotonic() - began, 0.0
    if ended.code:
        raise RuntimeError(f"{case.title}: {ended.result.reason}: {ended.result.message}")
    if case.plain:
        began = time.monotonic()
        subprocess.run(
            case.plain,
            check=True,
            timeout=_SECONDS,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **environment},
        )
        plain = time.monotonic() - began
    return Measures(seconds, peak.mebibytes, plain)


def line(title: str, size: int, rounds: Sequence[Measures]) -> str:
    """Return a case as a line of the table: the shortest time of each over all rounds."""
    seconds = min(one.seconds for one in rounds)
    plain = min(one.plain_seconds for one in rounds)
    peak = max(one.peak_mib for one in rounds)
    text = f"{title:<28} {seconds:6.1f} s {size / seconds / 1e6:7.0f} MB/s"
    compared = f"{plain:6.1f} s {plain / seconds:6.0%}" if plain else f"{'':15}"
    return f"{text}   {compared}   {peak:5.0f} MiB"


def play(files: Files, aws: str | None) -> dict[str, Measures]:
    """Measure all cases once, with a backup and places that are new, and removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, _serving(Path(name)) as server:
        folder = Path(name)
        pods = Pods(folder / "pods", keys_of(server), seconds=_SECONDS)
        written.backup(folders.FolderStore(str(folder / "backup")), BACKUP, files)
        written.backup(pods.store(bucket(server, f"backups/{BACKUP}")), BACKUP, files)
        return {
            case.title: measure(case, pods, server.variables())
            for case in cases(folder, server, aws)
        }


def main() -> int:
    """Run all cases and print a line for each."""
    parser = argparse.ArgumentParser(prog="bench.backups", description=__doc__.split("\n")[0])
    parser.add_argument("--mebibytes", type=int, default=1024, help="size of the backup")
    parser.add_argument("--aws", help="the AWS CLI, to compare with where buckets take part")
    parser.add_argument("--rounds", type=int, default=3, help="the shortest time of so many counts")
    arguments = parser.parse_args()
    files = Files(arguments.mebibytes)
    sys.stdout.write(f"{len(files)} files, {files.size / 1e6:.0f} MB\n")
    rounds = []
    for number in range(1, arguments.rounds + 1):
        sys.stderr.write(f"round {number} of {arguments.rounds}\n")
        rounds.append(play(files, arguments.aws))
    sys.stdout.write(f"{'':28} {'program':>21}   {'plain':>8} {'ratio':>6}   memory\n")
    for title in rounds[0]:
        sys.stdout.write(f"{line(title, files.size, [one[title] for one in rounds])}\n")
    return 0


@contextmanager
def _serving(folder: Path) -> Iterator[object_store.ObjectStore]:
    with object_store.serving(folder / "s3") as server:
        for name in ("backups", "data"):
            server.make_bucket(name)
        yield server


if __name__ == "__main__":
    sys.exit(main())
