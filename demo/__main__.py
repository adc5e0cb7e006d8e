# SPDX-License-Identifier: Apache-2.0
"""`python -m demo up` and `python -m demo down`.

DEMO=existing uses the cluster of KUBECONFIG, S3=1 keeps the database's data in an S3 server,
BACKUP=0 makes no backup.
"""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import yaml

from demo import backup_job, backups, object_storage, operator_process, sql
from demo.clusters import (
    NAME,
    NAMESPACE,
    Cluster,
    ClusterError,
    ExistingCluster,
    TestBedCluster,
    endpoint,
)
from demo.stages import Timeline, observe
from demo.watching import Watcher
from testbed import ObjectStore, TestBedError
from testbed.interrupts import end_as_by_ctrl_c
from testbed.processes import Launcher

PROJECT = Path(__file__).resolve().parents[1]
MANIFEST = PROJECT / "examples" / "tiny-cluster.yaml"

Json = dict[str, Any]

_CLUSTER_SECONDS = 600.0
_DELETE_SECONDS = 300
_SQL_SECONDS = 60.0
_REMINDER_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs.

    Attributes:
        database: the MatrixOneCluster.
        beside: objects that it refers to.
        store: the S3 server of its data and backups; None if they are on volumes.
    """

    database: Json
    beside: tuple[Json, ...] = ()
    store: ObjectStore | None = None

    @property
    def resources(self) -> tuple[Json, ...]:
        """All that is applied."""
        return (*self.beside, self.database)


class Clock:
    """Prints lines with the seconds since the command began, and remembers the stages."""

    def __init__(self) -> None:
        self._begin = self._stage_begin = time.monotonic()
        self.stages: list[tuple[str, float]] = []

    def say(self, line: str) -> None:
        """Print a line of progress."""
        click.echo(f"{time.monotonic() - self._begin:6.1f} s  {line}")

    def end_stage(self, name: str) -> None:
        """Note how long the stage took that ends now."""
        now = time.monotonic()
        self.stages.append((name, now - self._stage_begin))
        self._stage_begin = now

    @property
    def total(self) -> float:
        """Seconds since the command began."""
        return time.monotonic() - self._begin


@click.group(help=__doc__)
def cli() -> None:
    """Group the commands."""


@cli.command()
def up() -> None:
    """Start a MatrixOne cluster, run SQL statements and make a backup."""
    clock = Clock()
    cluster: Cluster = (
        ExistingCluster.of_environment() if _existing() else TestBedCluster.up(clock.say)
    )
    choice = _choose(cluster, clock)
    clock.end_stage("Kubernetes")
    cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(PROJECT / "crds"))
    cluster.kubectl(
        *("wait", "--for=condition=Established", "--timeout=60s"),
        *("crd", "-l", "app.kubernetes.io/part-of=matrixone"),
    )
    if choice.store:  # a Job marks the database's path in a bucket
        cluster.load_operator_image(clock.say)
        clock.end_stage("operator's image")
    kubeconfig, image = cluster.kubeconfig, cluster.operator_image
    operator_process.start(cluster.launcher, PROJECT, kubeconfig, image, clock.say)
    clock.end_stage("operator")
    _refuse_another_version(cluster)
    timeline = _bring_up_database(cluster, clock, backups.list_of(*choice.resources))
    clock.end_stage("database")
    where = endpoint(cluster)
    _talk(where, clock)
    clock.end_stage("SQL")
    _report(cluster, clock, timeline, where)
    _back_up(cluster, clock, choice)
    click.echo("remove it: make demo-down")


def _existing() -> bool:
    return os.environ.get("DEMO", "") == "existing"


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in {"", "0"}


def _choose(cluster: Cluster, clock: Clock) -> Choice:
    """Return the example, where backups can be written; with S3=1, on an S3 server."""
    resource = yaml.safe_load(MANIFEST.read_text())
    if cluster.version:
        clock.say(f"MatrixOne {cluster.version}, where users pull {resource['spec']['version']}")
        resource["spec"]["version"] = cluster.version
    if _is_set("S3"):
        store = cluster.object_store(object_storage.BUCKET, backups.BUCKET)
        clock.say(f"S3 server at {store.endpoint}, files in {store.folder}")
        on_s3 = object_storage.on_s3(resource, store)
        return Choice(on_s3, (object_storage.secret(store),), store)
    if _existing():
        return Choice(resource)
    return Choice(backups.on_volumes(resource), (backups.claim(),))


def _refuse_another_version(cluster: Cluster) -> None:
    """Refuse to turn a demo that runs into an upgrade, which not every pair of versions survives.

    Raises:
        ClusterError: the database has another version than the one that was chosen.
    """
    version = ("get", "mo", NAME, "--ignore-not-found", "-o", "jsonpath={.spec.version}")
    found = cluster.kubectl("-n", NAMESPACE, *version)
    if cluster.version and found not in {"", cluster.version}:
        raise ClusterError(f"the demo runs MatrixOne {found}: `make demo-down` removes it")


def _bring_up_database(cluster: Cluster, clock: Clock, manifest: str) -> Timeline:
    """Apply the example and follow it until the cluster says that it is ready."""
    watcher = Watcher(cluster.kubeconfig, NAMESPACE)
    try:
        apply = ("-n", NAMESPACE, "apply", "--server-side", "-f", "-")
        for line in cluster.kubectl(*apply, input=manifest).splitlines():
            clock.say(line)
        timeline = Timeline(applied=time.monotonic())
        _follow(watcher, timeline, clock, cluster.launcher)
    finally:
        watcher.stop()
    return timeline


def _follow(watcher: Watcher, timeline: Timeline, clock: Clock, launcher: Launcher) -> None:
    last_line, said_at = "", time.monotonic()
    for change in watcher.changes(timeline.applied + _CLUSTER_SECONDS):
        line = observe(timeline, change.kind, change.resource, change.at) if change else ""
        if line and line != last_line:
            clock.say(line)
            last_line, said_at = line, time.monotonic()
        elif time.monotonic() - said_at > _REMINDER_SECONDS:
            clock.say(f"still waiting ({last_line})")
            said_at = time.monotonic()
        if change is None:
            operator_process.require_running(launcher)
            if timeline.cluster_ready is not None:
                return
    message = (
        f"the cluster is not ready after {_CLUSTER_SECONDS:.0f} s, last seen: {last_line}; "
        f"see `kubectl -n {NAMESPACE} describe mo {NAME}`"
    )
    raise ClusterError(message)


def _talk(where: sql.Endpoint, clock: Clock) -> None:
    connection = sql.connect(where, time.monotonic() + _SQL_SECONDS)
    clock.say(f"connected to {where.host}:{where.port} as {where.user}")
    with connection:
        for statement in sql.STATEMENTS:
            click.echo(f"\nmysql> {statement};\n{sql.run(connection, statement)}")


def _back_up(cluster: Cluster, clock: Clock, choice: Choice) -> None:
    """Back the database up once, and print what the user can do next."""
    if os.environ.get("BACKUP", "") == "0" or not cluster.load_operator_image(clock.say):
        return
    clock.end_stage("operator's image")
    name = backup_job.completed(cluster, clock.say, choice.store)
    clock.end_stage("backup")
    manifest = cluster.launcher.places.root / "restored.yaml"
    manifest.write_text(yaml.safe_dump(backups.restored(choice.database, name), sort_keys=False))
    click.echo("\nseconds per stage")
    for stage, seconds in clock.stages[-2:]:
        click.echo(f"  {stage:<18}{seconds:6.1f}")
    click.echo(
        f"backups: kubectl get backupjobs,backups\n"
        f"restore into a second cluster:\n"
        f"  kubectl apply -f {manifest}\n"
        f"  kubectl wait --for=condition=Ready mo/{backups.RESTORED} --timeout=10m"
    )


def _report(cluster: Cluster, clock: Clock, timeline: Timeline, where: sql.Endpoint) -> None:
    own = timeline.own_seconds()
    click.echo("\nseconds per stage")
    for name, seconds in clock.stages:
        click.echo(f"  {name:<18}{seconds:6.1f}")
    click.echo(f"  {'all':<18}{clock.total:6.1f}")
    click.echo(f"of the database's stage, the operator's own part: {timeline.own_total():.2f} s")
    click.echo("  " + ", ".join(f"{name} {seconds:.2f}" for name, seconds in own.items()))
    secret = f"kubectl -n {NAMESPACE} get secret {NAME}-credential"
    click.echo(
        f"\nconnect:\n"
        f"  export KUBECONFIG={cluster.kubeconfig}\n"
        f"  mysql -h {where.host} -P {where.port} -u {where.user} "
        f'-p"$({secret} -o jsonpath={{.data.password}} | base64 -d)"\n'
        f"status: kubectl get matrixone -A"
    )


@cli.command()
def down() -> None:
    """Remove everything that the demo has created."""
    clock = Clock()
    cluster = ExistingCluster.of_environment() if _existing() else TestBedCluster.find()
    if cluster is None:
        clock.say("there is no demo to remove")
        return
    if isinstance(cluster, ExistingCluster):
        _delete_database(cluster, clock)
    operator_process.stop(cluster.launcher)
    cluster.remove(clock.say)


def _delete_database(cluster: Cluster, clock: Clock) -> None:
    """Delete the example while the operator still runs, since it takes the database down."""
    manifest = yaml.safe_load(MANIFEST.read_text())
    cluster.kubectl(
        *("-n", NAMESPACE, "delete", manifest["kind"], manifest["metadata"]["name"]),
        *("--ignore-not-found", f"--timeout={_DELETE_SECONDS}s"),
    )
    clock.say("the database is deleted")


def main() -> None:
    """Run the command line; an expected error is one line and exit code 1."""
    end_as_by_ctrl_c()
    try:
        cli(standalone_mode=False)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("\ninterrupted: `make demo` continues, `make demo-down` removes it", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (TestBedError, ClusterError, operator_process.OperatorError, sql.NoAnswerError) as error:
        click.echo(f"demo: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
