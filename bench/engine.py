# SPDX-License-Identifier: Apache-2.0
"""What a run costs in each engine: ``python bench/engine.py [--kubeconfig FILE] [--json FILE]``.

Every engine plays the same plays in one go: two tasks that do nothing, a module, and (with a
kubeconfig) an unchanged role with one ``kubernetes.core.k8s`` task that finds nothing to change.
Wall time is the median of runs one after the other; CPU is that of the runner, the template and
all their children, divided by the runs; memory is proportional (shared pages divided).
"""

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from ansible_operator.engine import (
    KINDS,
    Engine,
    ExtraVars,
    PlaybookTarget,
    RoleTarget,
    RunRequest,
    make_engine,
)
from ansible_operator.engine.forking.processes import ProcessTree

_TICKS = os.sysconf("SC_CLK_TCK")
_HEAD = "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
_PLAYS = {
    "two small tasks": _HEAD
    + "    - ansible.builtin.debug: {msg: hello}\n    - ansible.builtin.set_fact: {one: 1}\n",
    "one command": _HEAD + "    - ansible.builtin.command: {cmd: 'true'}\n",
}
_ROLE = """
- name: Apply
  kubernetes.core.k8s:
    definition:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: engine-bench, namespace: default}
      data: {size: "{{ size }}"}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured scenario.

    Attributes:
        wall_ms: median of the runs one after the other.
        cpu_ms: CPU per run.
        peak_mib: memory of the runner and all children with four runs at a time.
    """

    engine: str
    scenario: str
    runs: int
    wall_ms: float
    cpu_ms: float
    peak_mib: float


def cpu_seconds(tree: ProcessTree) -> float:
    """CPU of the living members of a tree and of the children that they have buried."""
    ticks = 0
    for process in tree.refresh():
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICKS


def memory_mib(tree: ProcessTree) -> float:
    """Proportional memory of a tree."""
    total = 0
    for process in tree.refresh():
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


class Bench:
    """One engine under measurement."""

    def __init__(self, kind: str, engine: Engine, folder: Path, kubeconfig: Path | None) -> None:
        self._kind = kind
        self._engine = engine
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._tree = ProcessTree(os.getpid())
        self._runs = 0

    def scenarios(self) -> Iterator[tuple[str, PlaybookTarget | RoleTarget]]:
        """What is played."""
        for name, text in _PLAYS.items():
            path = self._folder / f"{name.replace(' ', '_')}.yml"
            path.write_text(text)
            yield name, PlaybookTarget(path)
        if self._kubeconfig is not None:
            yield "role with one k8s task", RoleTarget("objects", role(self._folder), False)

    async def measure(self, name: str, target: PlaybookTarget | RoleTarget, runs: int) -> Row:
        """Play a scenario alone and four at a time."""
        await self._play(target, 0)
        before = cpu_seconds(self._tree)
        walls = [await self._play(target, 0) for _ in range(runs)]
        cpu = cpu_seconds(self._tree) - before
        async with self._watched_memory() as peak:
            for _ in range(max(1, runs // 4)):
                await asyncio.gather(*(self._play(target, slot) for slot in range(4)))
        return Row(
            self._kind,
            name,
            runs,
            round(statistics.median(walls) * 1000, 1),
            round(cpu / runs * 1000, 1),
            round(max(peak), 1),
        )

    async def _play(self, target: PlaybookTarget | RoleTarget, slot: int) -> float:
        self._runs += 1
        request = RunRequest(
            ident=str(self._runs),
            directory=self._folder / f"run{slot}",
            target=target,
            extra_vars=ExtraVars({"size": "1"}),
            kubeconfig=self._kubeconfig,
            artifacts_to_keep=2,
        )
        since = time.perf_counter()
        result = await self._engine.run(request, lambda _event: None)
        if result.rc:
            sys.exit(f"{self._kind} failed:\n{result.stdout}\n{result.error}")
        return time.perf_counter() - since

    @contextlib.asynccontextmanager
    async def _watched_memory(self) -> AsyncIterator[list[float]]:
        seen = [0.0]

        async def watch() -> None:
            while True:
                seen.append(await asyncio.to_thread(memory_mib, self._tree))
                await asyncio.sleep(0.05)

        watcher = asyncio.create_task(watch(), name="memory watcher")
        try:
            yield seen
        finally:
            watcher.cancel()


def role(folder: Path) -> Path:
    """Write the role with a Kubernetes task."""
    tasks = folder / "roles" / "objects" / "tasks"
    tasks.mkdir(parents=True, exist_ok=True)
    (tasks / "main.yml").write_text(_ROLE)
    return tasks.parent


async def bench(options: argparse.Namespace) -> tuple[list[Row], dict[str, float]]:
    """Measure all engines, one after the other."""
    rows: list[Row] = []
    idle: dict[str, float] = {}
    for kind in options.engines:
        with tempfile.TemporaryDirectory(prefix="engine-bench-") as name:
            folder = Path(name)
            engine = make_engine(kind, preload=[role(folder)])
            since = time.perf_counter()
            await engine.start()
            idle[f"{kind}: start s"] = round(time.perf_counter() - since, 2)
            subject = Bench(kind, engine, folder, options.kubeconfig)
            idle[f"{kind}: idle MiB"] = round(memory_mib(ProcessTree(os.getpid())), 1)
            runs = options.runs if kind == KINDS[0] else max(2, options.runs // 10)
            for scenario, target in subject.scenarios():
                rows.append(await subject.measure(scenario, target, runs))
            await engine.stop()
    return rows, idle


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=40, help="runs a scenario (a tenth for slow)")
    parser.add_argument("--kubeconfig", type=Path, help="cluster for the Kubernetes scenario")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--engines", nargs="+", default=list(KINDS), choices=KINDS)
    options = parser.parse_args()
    rows, idle = asyncio.run(bench(options))
    print(f"{'engine':16}{'scenario':26}{'runs':>6}{'wall ms':>10}{'CPU ms':>10}{'4 runs MiB':>12}")
    for row in rows:
        print(
            f"{row.engine:16}{row.scenario:26}{row.runs:6}"
            f"{row.wall_ms:10}{row.cpu_ms:10}{row.peak_mib:12}"
        )
    for label, value in idle.items():
        print(f"{label:30}{value:>10}")
    if options.json:
        options.json.write_text(json.dumps({"rows": [asdict(r) for r in rows], "idle": idle}))


if __name__ == "__main__":
    main()
