# SPDX-License-Identifier: Apache-2.0
"""Flags and environment of ``run`` as values, checked."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_operator.engine import RUNS_PER_PROCESS
from ansible_operator.errors import ConfigError
from ansible_operator.logs import get_logger
from ansible_operator.loop.settings import EventLogLevel

DEFAULT_METRICS_ADDRESS = ":8443"
MOST_SHARDS = 256
DEFAULT_RUN_ROOT = Path("/tmp/ansible-operator/runner")  # noqa: S108  # the contract's place
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_LOG = get_logger("cmd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The flags of ``run``; durations in seconds, None where a flag was not given."""

    watches_file: Path = Path("./watches.yaml")
    strict_watches: bool = False
    engine: str = "warm"
    ansible_args: str = ""
    ansible_collections_path: str = ""
    ansible_roles_path: str = ""
    ansible_log_events: str = "tasks"
    ansible_verbosity: int = 2
    max_annotated_verbosity: int = 2
    max_artifacts: int = 10_000
    inject_owner_ref: bool = True
    max_concurrent_reconciles: int | None = None
    max_concurrent_runs: int = 0
    runs_per_process: int = RUNS_PER_PROCESS
    reconcile_period: float = 36_000.0
    run_directory: Path = DEFAULT_RUN_ROOT
    proxy_port: int = 8888
    metrics_api_port: int = 5050
    metrics_bind_address: str | None = None
    metrics_addr: str | None = None
    metrics_secure: bool = False
    metrics_require_rbac: bool = False
    health_probe_bind_address: str = ":6789"
    leader_elect: bool | None = None
    enable_leader_election: bool | None = None
    leader_election_id: str = ""
    leader_election_namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    shards: int = 1
    shard_group: str = ""
    graceful_shutdown_timeout: float = 30.0
    webhook_bind_address: str = "0"
    webhook_cert_dir: Path | None = None
    webhook_configurations: str = "manage"
    webhook_name: str = ""
    webhook_namespace: str = ""
    webhook_service: str = ""
    webhook_service_port: int = 443
    webhook_url_host: str = ""
    webhook_failure_policy: str = "Ignore"
    webhook_timeout: float = 5.0

    def validate(self) -> None:
        """Refuse combinations that contradict each other.

        Raises:
            ConfigError: with the contract's text.
        """
        if self.metrics_require_rbac and not self.metrics_secure:
            raise ConfigError(
                "--metrics-secure flag is required when --metrics-require-rbac is present"
            )
        if self.runs_per_process < 1:
            raise ConfigError("--runs-per-process must be at least 1")
        if self.max_annotated_verbosity < 0:
            raise ConfigError("--max-annotated-verbosity must not be negative")
        if self.max_artifacts < 1:
            raise ConfigError("--max-artifacts must be at least 1")
        if self.leader_elect is not None and self.enable_leader_election is not None:
            raise ConfigError("only one of --leader-elect and --enable-leader-election may be set")
        if self.metrics_addr is not None and self.metrics_bind_address is not None:
            raise ConfigError("only one of --metrics-addr and --metrics-bind-address may be set")
        if not 1 <= self.shards <= MOST_SHARDS:
            raise ConfigError(f"--shards must be between 1 and {MOST_SHARDS}")
        if self.shards > 1 and not self.elects_leader:
            raise ConfigError(
                "--shards needs --leader-elect: processes share objects by Leases of that election"
            )
        self._validate_webhook()

    def _validate_webhook(self) -> None:
        if split_address(self.webhook_bind_address) is None:
            return
        if bool(self.webhook_service) == bool(self.webhook_url_host):
            raise ConfigError(
                "--webhook-bind-address needs either --webhook-service (the Service in front of "
                "the replicas) or --webhook-url-host (a process outside the cluster)"
            )
        if self.webhook_url_host and not self.webhook_name:
            raise ConfigError("--webhook-url-host needs --webhook-name")
        if not 1 <= self.webhook_timeout <= 30:
            raise ConfigError("--webhook-timeout must be between 1s and 30s")

    @property
    def elects_leader(self) -> bool:
        """Whether only one of several processes may run objects."""
        return bool(self.leader_elect or self.enable_leader_election)

    @property
    def metrics_address(self) -> str:
        """Where metrics are served; ``"0"`` for nowhere."""
        return self.metrics_bind_address or self.metrics_addr or DEFAULT_METRICS_ADDRESS

    @property
    def log_level(self) -> EventLogLevel:
        """How much of plays is logged; unknown words mean tasks."""
        try:
            return EventLogLevel(self.ansible_log_events.lower())
        except ValueError:
            _LOG.error("unrecognized log level", level=self.ansible_log_events)
            return EventLogLevel.TASKS


def split_address(address: str) -> tuple[str, int] | None:
    """Host (``""`` for all) and port of ``:8443`` or ``host:port``; None for ``0``.

    Raises:
        ConfigError: the address is neither.
    """
    if address == "0":
        return None
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ConfigError(f'address "{address}" is not of the form host:port')
    return host.strip("[]"), int(port)


def watched_namespaces(environ: Mapping[str, str]) -> tuple[str, ...]:
    """``WATCH_NAMESPACE``; empty for all namespaces."""
    parts = (part.strip() for part in environ.get("WATCH_NAMESPACE", "").split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


def boolean_variable(environ: Mapping[str, str], name: str) -> bool:
    """A boolean as Go reads it; what cannot be read is logged and false."""
    value = environ.get(name, "")
    if value and value not in _TRUE | _FALSE:
        _LOG.error("Environment variable is not a boolean", env=name)
    return value in _TRUE


def integer_variable(environ: Mapping[str, str], name: str) -> int:
    """A number; 0 for anything else."""
    try:
        return int(environ.get(name, "0"))
    except ValueError:
        return 0


def unquoted(text: str) -> str:
    """``--ansible-args`` without the quotes that shells in manifests leave around it."""
    wrapped = len(text) > 1 and text[0] == text[-1] == "'"
    return text[1:-1] if wrapped else text


def available_cpus(cgroup: Path = Path("/sys/fs/cgroup")) -> int:
    """CPUs that this process may use, its cgroup's limit included; at least 1."""
    cpus = len(os.sched_getaffinity(0))
    limit = _cgroup_limit(cgroup)
    return max(1, min(cpus, math.ceil(limit))) if limit else cpus


def _cgroup_limit(root: Path) -> float:
    """CPUs of the cgroup's quota (version 2, then 1); 0 for no limit."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu" / "cpu.cfs_quota_us").read_text().strip()
            period = (root / "cpu" / "cpu.cfs_period_us").read_text().strip()
        except OSError:
            return 0.0
    if not quota.isdigit() or not period.isdigit() or not int(period):
        return 0.0
    return int(quota) / int(period)
