# SPDX-License-Identifier: Apache-2.0
"""Assembles the parts of one operator process and starts them in order."""

import asyncio
import os
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ansible_operator import metrics
from ansible_operator.engine import make_engine
from ansible_operator.engine.private_files import make_folders
from ansible_operator.errors import ConfigError, OperatorError
from ansible_operator.kube.access import ClusterAccess, load_access
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.lease import LeaderElection, LeaseSettings, election_namespace
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.logs import get_logger
from ansible_operator.loop.control import ControlLoop, Dependencies, Plan
from ansible_operator.manager.bridge import Bridge
from ansible_operator.manager.plans import (
    checks_to_load,
    isolations,
    make_plans,
    make_settings,
    most_runs,
    roles_to_load,
    total_runs,
)
from ansible_operator.manager.sharding import ShardedElection
from ansible_operator.manager.stop import Stop
from ansible_operator.manager.supervision import Election, Parts, supervise
from ansible_operator.manager.webhook import Webhook
from ansible_operator.options import Options, split_address, watched_namespaces
from ansible_operator.serve.proxy import LoopbackProxy
from ansible_operator.serve.small_servers import ServerSettings, small_servers
from ansible_operator.version import COMMIT, VERSION
from ansible_operator.watches import Watch, load

COMPONENT = "ansible-operator"

_LOG = get_logger("cmd")


class Manager:
    """One operator process."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._stop = Stop()
        self._namespaces = watched_namespaces(os.environ)

    async def run(self) -> None:
        """Run until a signal.

        Raises:
            OperatorError: the process cannot work, or a part of it has failed.
        """
        self._stop.install()
        metrics.BUILD_INFO.labels(COMMIT, VERSION).set(1)
        access = _access()
        if os.environ.get("OPERATOR_NAME"):
            _LOG.info("OPERATOR_NAME environment variable is deprecated, use --leader-election-id")
        _refuse_contradictions(self._options)
        self._apply_paths()
        if self._namespaces:
            _LOG.info("Watching namespaces", namespaces=self._namespaces)
        else:
            _LOG.info("Watching all namespaces")
        plans = make_plans(_load(self._options), self._options, os.environ)
        _check_run_directory(self._options.run_directory)
        with tempfile.TemporaryDirectory(prefix="ansible-operator-") as private:
            self._stop.private = Path(private)
            async with HttpClient(access) as client:
                mapper = DiscoveryMapper(client)
                async with SharedInformers(client, mapper, self._namespaces) as informers:
                    await self._serve(client, mapper, informers, plans, Path(private))

    def _apply_paths(self) -> None:
        """Set the search paths of this process and of every run."""
        for name, value in (
            ("ANSIBLE_ROLES_PATH", self._options.ansible_roles_path),
            ("ANSIBLE_COLLECTIONS_PATH", self._options.ansible_collections_path),
        ):
            if value:
                os.environ[name] = value

    async def _serve(
        self,
        client: HttpClient,
        mapper: DiscoveryMapper,
        informers: SharedInformers,
        plans: Sequence[Plan],
        private: Path,
    ) -> None:
        """Create all parts, listen, and let them work."""
        options = self._options
        total = total_runs(plans, options)
        bridge = Bridge(options.inject_owner_ref, private)
        deps = Dependencies(
            client=client,
            mapper=mapper,
            informers=informers,
            engine=make_engine(
                options.engine,
                preload=roles_to_load(plans),
                checks=checks_to_load(plans),
                isolations=isolations(plans),
                max_runs=most_runs(plans, total),
                runs_per_process=options.runs_per_process,
            ),
            kubeconfig_for=bridge.kubeconfig_for,
            recorder=EventRecorder(client, COMPONENT),
            settings=make_settings(options, os.environ, client.access.server),
        )
        self._stop.abandon = deps.engine.abandon
        loop = bridge.loop = ControlLoop(deps, plans, total, options.shards)
        parts = self._parts(client, deps, loop)
        proxy = LoopbackProxy(
            client,
            mapper,
            informers,
            add_dependent=bridge.add_dependent,
            write_seen=bridge.write_seen,
            namespaces=self._namespaces,
            port=options.proxy_port,
        )
        ready, warnings = {"readyz": parts.unready}, {"engine": parts.slowness}
        async with small_servers(client, self._servers(), ready, warnings), proxy:
            bridge.proxy = proxy
            await supervise(parts, options.graceful_shutdown_timeout)

    def _parts(self, client: HttpClient, deps: Dependencies, loop: ControlLoop) -> Parts:
        return Parts(
            client=client,
            engine=deps.engine,
            loop=loop,
            recorder=deps.recorder,
            election=self._election(client, deps.recorder, loop),
            webhook=Webhook(client, deps.mapper, loop.watches, self._options, self._namespaces),
            stopping=self._stop.requested,
        )

    def _election(
        self, client: HttpClient, recorder: EventRecorder, loop: ControlLoop
    ) -> Election | None:
        options = self._options
        if not options.elects_leader:
            return None
        settings = LeaseSettings(
            name=options.leader_election_id or os.environ.get("OPERATOR_NAME", ""),
            namespace=election_namespace(options.leader_election_namespace),
            duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
        )
        if options.shards == 1:
            return LeaderElection(client, settings, recorder)
        return ShardedElection(client, settings, _shard_group(options), options.shards, loop)

    def _servers(self) -> ServerSettings:
        options = self._options
        return ServerSettings(
            metrics=split_address(options.metrics_address),
            metrics_secure=options.metrics_secure,
            metrics_require_rbac=options.metrics_require_rbac,
            metrics_api_port=options.metrics_api_port,
            probes=split_address(options.health_probe_bind_address),
        )


def _access() -> ClusterAccess:
    try:
        return load_access()
    except ConfigError:
        _LOG.error("Failed to get config.")
        raise


def _shard_group(options: Options) -> str:
    """Which processes may share objects: those of one version with one watches file.

    A watches file decides to which shard an object belongs.
    """
    watches = zlib.crc32(options.watches_file.read_bytes())
    return f"{options.shard_group or f'{VERSION}-{COMMIT}'}, watches {watches:08x}"


def _refuse_contradictions(options: Options) -> None:
    try:
        options.validate()
    except ConfigError:
        _LOG.error("invalid flags usage")
        raise


def _check_run_directory(folder: Path) -> None:
    """Refuse a folder that runs cannot write to, such as a volume of another user."""
    reason = ""
    try:
        make_folders(folder.absolute())
        if not os.access(folder, os.W_OK | os.X_OK):
            reason = "it cannot be written to"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        raise ConfigError(
            f"run directory {folder} cannot be used: {reason}; choose another with --run-directory"
        )


def _load(options: Options) -> list[Watch]:
    try:
        return load(options.watches_file, strict=options.strict_watches)
    except ConfigError:
        _LOG.error("Failed to load watches.")
        raise


def serve(options: Options) -> int:
    """Run the operator in a fresh event loop; the exit code of the process."""
    problems: list[BaseException] = []
    try:
        asyncio.run(Manager(options).run())
    except* (OperatorError, OSError, TimeoutError) as group:
        problems += _flat(group)
    except* Exception as group:  # noqa: BLE001  # whatever it is, it belongs in the log
        _LOG.exception("Operator crashed.")
        problems += _flat(group)
    for problem in problems:
        text = str(problem) or type(problem).__name__
        known = isinstance(problem, ConfigError)
        _LOG.error(text if known else "Proxy or operator exited with error.", error=text)
    if not problems:
        _LOG.info("Exiting.")
    return 1 if problems else 0


def _flat(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error
