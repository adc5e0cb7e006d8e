# SPDX-License-Identifier: Apache-2.0
"""Having the demo's BackupJob carried out by its operator."""

import json
import time
from collections.abc import Callable
from typing import Any

from demo import backups, operator_process
from demo.clusters import NAMESPACE, Cluster, ClusterError
from testbed import ObjectStore

Json = dict[str, Any]

_SECONDS = 300.0
_POLL_SECONDS = 1.0


def completed(cluster: Cluster, say: Callable[[str], None], store: ObjectStore | None) -> str:
    """Apply the BackupJob and follow it to its end; return the name of its Backup.

    One that has failed before is repeated, one that has completed stays.

    Args:
        cluster: the database is ready, and the nodes have the operator's image.
        say: prints a line of progress.
        store: the S3 server; None for a backup on a volume.

    Raises:
        ClusterError: it failed, or has not ended in time.
    """
    if backups.failure(_read(cluster)):
        kubectl = ("-n", NAMESPACE, "delete", "backupjob", backups.JOB, "--timeout=60s")
        cluster.kubectl(*kubectl)
    apply = ("-n", NAMESPACE, "apply", "--server-side", "-f", "-")
    cluster.kubectl(*apply, input=json.dumps(backups.job(store)))
    deadline, last_line = time.monotonic() + _SECONDS, ""
    while time.monotonic() < deadline:
        job = _read(cluster)
        line = backups.line(job)
        if line != last_line:
            say(line)
            last_line = line
        if failure := backups.failure(job):
            raise ClusterError(f"the backup failed: {failure}; `make demo` tries again")
        if name := backups.name(job):
            return name
        operator_process.require_running(cluster.launcher)
        time.sleep(_POLL_SECONDS)
    raise ClusterError(
        f"the backup has not ended after {_SECONDS:.0f} s, last seen: {last_line or 'no status'}; "
        f"see `kubectl -n {NAMESPACE} describe backupjob {backups.JOB}`"
    )


def _read(cluster: Cluster) -> Json:
    """Return the BackupJob; empty if there is none."""
    get = ("get", "backupjob", backups.JOB, "--ignore-not-found", "-o", "json")
    found: Json = json.loads(cluster.kubectl("-n", NAMESPACE, *get) or "{}")
    return found
