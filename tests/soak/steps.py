# SPDX-License-Identifier: Apache-2.0
"""What may happen to a cluster, each as moves between which other steps move."""

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pymysql

from tests.e2e.backups import backup_job, status
from tests.e2e.database_objects import apply_one
from tests.e2e.faults import frozen, processes_of, without_api_server
from tests.soak.life import Life, Moves, value_at
from tests.support.examples import later

PARTS = ("logService", "tn", "cnGroups/0", "proxy")
KINDS = ("LogSet", "DNSet", "CNSet", "ProxySet")
SETS = ("mo/mo", "logset/mo", "dnset/mo", "cnset/mo-tp", "proxyset/mo")
_BACKUP_SECONDS = 240
_MOST_BACKUPS = 4


def compute_nodes(life: Life) -> Moves:
    """Scale them."""
    count = life.random.choice([1, 2, 3])
    life.set({"cnGroups/0/replicas": count})
    yield f"{count} compute nodes"


def proxies(life: Life) -> Moves:
    """Scale them."""
    count = life.random.choice([1, 2])
    life.set({"proxy/replicas": count})
    yield f"{count} proxies"


def log_stores(life: Life) -> Moves:
    """Add two, and delete them, possibly before they have started."""
    life.set({"logService/replicas": 5})
    yield "5 log stores"
    ready = life.wait_sometimes(lambda: _ready(life, "logset/mo") == 5, 120)
    life.scaled_away |= {"mo-log-3", "mo-log-4"}
    life.set({"logService/replicas": 3})
    yield f"3 log stores ({'after' if ready else 'without waiting for'} 5)"


def _ready(life: Life, what: str) -> int:
    return int(life.cluster.get(*what.split("/")).get("status", {}).get("readyReplicas") or 0)


def configuration(life: Life) -> Moves:
    """Give some parts another configuration; sometimes take it back in the middle."""
    parts = life.random.sample(PARTS, life.random.choice([1, 1, 2, 4]))
    yield from _changed(
        life, {f"{one}/config": f'[log]\nlevel = "{_level(life)}"\n' for one in parts}
    )


def _level(life: Life) -> str:
    return life.random.choice(["info", "warn", "error"])


def resources(life: Life) -> Moves:
    """Request other amounts of CPU."""
    part = life.random.choice(PARTS)
    cpu = f"{life.random.choice([50, 60, 70])}m"
    yield from _changed(life, {f"{part}/resources/requests/cpu": cpu})


def version(life: Life) -> Moves:
    """Use another tag of the same image."""
    yield from _changed(life, {"version": later(life.random.choice([1, 2]))})


def _changed(life: Life, changes: dict[str, Any]) -> Moves:
    """Change the spec, and sometimes revert that."""
    spec = life.spec()
    before = {path: value_at(spec, path) for path in changes}
    life.set(changes)
    yield f"{changes}"
    if life.random.random() < 0.3:
        life.set(before)
        yield f"reverted: {before}"


def typo(life: Life) -> Moves:
    """Ask for what cannot be, until the status says so or not even that long."""
    part = life.random.choice(PARTS)
    path, wrong = life.random.choice(
        [
            ("version", later(9)),
            (f"{part}/config", '[log]\nlevel = "nonsense"\n'),
            (f"{part}/resources/requests/cpu", "1000"),
        ]
    )
    before = value_at(life.spec(), path)
    life.set({path: wrong})
    yield f"typo: {path} = {wrong!r}"
    said = life.wait_sometimes(
        lambda: life.cluster.condition("mo", "mo", "Degraded").get("status") == "True", 90
    )
    life.set({path: before})
    yield f"typo corrected {'after' if said else 'without waiting for'} Degraded: {before!r}"


def restart(life: Life) -> Moves:
    """Restart the cluster or a set by its annotation."""
    what = life.random.choice(SETS)
    life.steps += 1
    life.annotate(what, f"matrixorigin.io/restartedAt=life-{life.steps}")
    yield f"restart of {what}"


def lost_pod(life: Life) -> Moves:
    """Delete a Pod, with or without a grace period."""
    kind = life.random.choice(KINDS)
    pod = _any_pod(life, kind)
    if pod:
        force = life.random.choice([(), ("--force", "--grace-period=0")])
        life.cluster.kubectl("delete", "pod", pod, "--wait=false", "--ignore-not-found", *force)
        yield f"deleted {pod} {' '.join(force)}"


def _any_pod(life: Life, kind: str) -> str:
    number = life.random.randrange(60)
    pods = sorted(
        name
        for name, pod in life.cluster.pods(kind).items()
        if "deletionTimestamp" not in pod["metadata"]
    )
    return pods[number % len(pods)] if pods else ""


def killed_process(life: Life) -> Moves:
    """Kill the database's process in a Pod, or let it stand still for a while."""
    kind, seconds = life.random.choice(KINDS), life.random.choice([0, 10, 30])
    pod = _any_pod(life, kind)
    with suppress(AssertionError):  # it has no process at the moment
        if seconds:
            with frozen(life.cluster, pod):
                time.sleep(seconds)
        else:
            for process in processes_of(life.cluster, [pod]):
                os.kill(process, signal.SIGKILL)
        yield f"{f'{seconds} s of standstill' if seconds else 'death'} of the process of {pod}"


def operator(life: Life) -> Moves:
    """End the operator, and start it later."""
    how = life.random.choice([signal.SIGKILL, signal.SIGTERM])
    life.cluster.operator.end(how)
    yield f"operator: {how.name}"
    life.cluster.operator.start()
    yield "operator started"


def api_server(life: Life) -> Moves:
    """Kill the API server, and start it later."""
    seconds = life.random.choice([1, 15, 40])
    with without_api_server(life.cluster.bed):
        time.sleep(seconds)
    yield f"API server away for {seconds} s"


def pause(life: Life) -> Moves:
    """Pause the cluster or a set, change it meanwhile, and resume."""
    what = life.random.choice(SETS)
    life.annotate(what, "matrixorigin.io/paused=true")
    yield f"paused {what}"
    yield from life.random.choice([compute_nodes, configuration, proxies, resources])(life)
    life.annotate(what, "matrixorigin.io/paused-")
    yield f"resumed {what}"


def hibernation(life: Life) -> Moves:
    """Let the cluster sleep, and wake it, possibly before it sleeps."""
    scope = life.random.choice(["Compute", "Database"])
    life.set({"hibernation": {"asleep": True, "scope": scope}})
    yield f"hibernation, {scope}"

    def state() -> str:
        return str(life.cluster.get("mo", "mo")["status"].get("hibernation", {}).get("state"))

    asleep = life.wait_sometimes(lambda: state() == "Asleep", 150)
    life.set({"hibernation": life.random.choice([None, {"asleep": False, "scope": scope}])})
    yield f"woken when {'Asleep' if asleep else state()}"


def backup(life: Life) -> Moves:
    """Write a full or an incremental backup; it may fail if something else happens meanwhile."""
    life.steps += 1
    name = f"life-{life.steps}"
    kind: dict[str, Any] = {}
    if life.backups and life.random.random() < 0.5:
        kind = {"type": "incremental", "base": {"latest": True}}
    target = life.place.location(f"{life.cluster.namespace}/{name}")
    job = backup_job(name, target, deletionPolicy="Delete", **kind)
    alone = life.is_alone
    life.cluster.kubectl("apply", "-f", "-", input=json.dumps(job))
    yield f"{kind.get('type', 'full')} backup {name}"

    def phase() -> str:
        return str(status(life.cluster, f"backupjob/{name}").get("phase"))

    life.wait_for(lambda: phase() in {"Completed", "Failed"}, _BACKUP_SECONDS)
    said = status(life.cluster, f"backupjob/{name}")
    assert not alone or said.get("phase") == "Completed", json.dumps(said, indent=1)
    if said.get("phase") == "Completed":
        life.backups.append(name)
    life.cluster.kubectl("delete", "backupjob", name, "--timeout=120s")
    yield f"backup {name}: {said.get('phase')}"


def old_backup(life: Life) -> Moves:
    """Delete a Backup with its files, the newest first: others may be based on those before."""
    if not life.backups:
        return
    name = life.backups.pop()
    listed = json.loads(life.cluster.bed.kubectl("get", "backups", "-o", "json"))["items"]
    for one in listed:
        if name in one["metadata"]["name"].rpartition("-")[0]:
            life.cluster.bed.kubectl("delete", "backup", one["metadata"]["name"], "--wait=false")
            yield f"deletion of the Backup {one['metadata']['name']}"


def snapshot(life: Life) -> Moves:
    """Take a snapshot of the account, and drop it."""
    life.steps += 1
    name = f"life_{life.steps}"
    taken = life.wait_for(lambda: _sql(life, f"create snapshot {name} for account sys"), 120)
    assert taken or not life.is_alone, "no snapshot could be taken"
    yield f"snapshot {name}: {taken}"
    if taken:
        dropped = life.wait_for(lambda: _sql(life, f"drop snapshot {name}"), 120)
        yield f"snapshot {name} dropped: {dropped}"


def _sql(life: Life, *statements: str) -> bool:
    try:
        with life.cluster.connect() as session, session.cursor() as cursor:
            for one in statements:
                cursor.execute(one)
    except (pymysql.MySQLError, OSError):
        return False
    return True


def database_and_user(life: Life) -> Moves:
    """Create a database and a user, change the user, delete both."""
    life.steps += 1
    name = f"life{life.steps}"
    apply_one("Database", life.cluster, name, deletionPolicy="Delete")
    _user(life, name, "Select")
    yield f"database and user {name}"
    _user(life, name, "Select", "Insert")
    yield f"privileges of {name} changed"
    life.wait_sometimes(
        lambda: life.cluster.condition("databaseuser", name, "Ready").get("status") == "True", 60
    )
    life.cluster.kubectl("delete", "databaseuser,database", name, "--wait=false")
    yield f"database and user {name} deleted"


def _user(life: Life, name: str, *grant: str) -> None:
    privileges = [{"target": f"{name}.*", "grant": list(grant)}]
    apply_one("DatabaseUser", life.cluster, name, privileges=privileges, deletionPolicy="Delete")


def group(life: Life) -> Moves:
    """Add a group of compute nodes, and remove it."""
    spec = life.spec()["cnGroups"]
    life.set({"cnGroups": [spec[0], {**spec[0], "name": "ap", "replicas": 1}]})
    yield "another group"
    life.set({"cnGroups/1": None})
    yield "the other group removed"


def volume(life: Life) -> Moves:
    """Expand the volumes of the log stores."""
    size = value_at(life.spec(), "logService/volume/size")
    megabytes = 1024 if size == "1Gi" else int(str(size).removesuffix("Mi"))
    life.set({"logService/volume/size": f"{megabytes + 16}Mi"})
    yield f"volumes of {megabytes + 16}Mi"


STEPS: tuple[Callable[[Life], Moves], ...] = (
    compute_nodes,
    proxies,
    log_stores,
    configuration,
    resources,
    version,
    typo,
    restart,
    lost_pod,
    killed_process,
    operator,
    api_server,
    pause,
    hibernation,
    backup,
    old_backup,
    snapshot,
    database_and_user,
    group,
    volume,
)
