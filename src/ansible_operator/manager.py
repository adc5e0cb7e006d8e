# SPDX-License-Identifier: Apache-2.0
"""Starts everything in order, watches over it and ends it in order (runner.md §2.1, §2.22)."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_operator import metrics
from ansible_operator.engine import make_engine
from ansible_operator.engine.interface import Engine
from ansible_operator.errors import ConfigError, OperatorError
from ansible_operator.kube.access import ClusterAccess, load_access
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind, Object, ResourceType
from ansible_operator.kube.pool import SharedInformers
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.logs import get_logger
from ansible_operator.loop.control import ControlLoop, Plan, Surroundings
from ansible_operator.loop.settings import Controlled, RunSettings
from ansible_operator.options import (
    Options,
    available_cpus,
    boolean_variable,
    integer_variable,
    unquoted,
    watched_namespaces,
)
from ansible_operator.serve.interface import Owner, OwnWrite, Proxy, ProxyLimits
from ansible_operator.serve.proxy.server import LoopbackProxy
from ansible_operator.version import COMMIT, VERSION
from ansible_operator.watches import (
    Watch,
    ansible_verbosity,
    load,
    max_concurrent_reconciles,
)

ENGINE_START_SECONDS = 60.0
FLUSH_SECONDS = 2.0

_LOG = get_logger("cmd")


@dataclass(slots=True)
class _Bridge:
    """Connects the loop and the proxy, which do not know each other."""

    inject_owner: bool
    directory: Path
    loop: ControlLoop | None = None
    proxy: Proxy | None = None

    @contextlib.contextmanager
    def session(self, controlled: Controlled, obj: Object) -> Iterator[Path]:
        """A kubeconfig for one run on behalf of an object."""
        metadata = obj["metadata"]
        owner = Owner(
            gvk=controlled.gvk,
            name=metadata["name"],
            namespace=metadata.get("namespace", ""),
            uid=metadata.get("uid", ""),
            namespaced=controlled.resource.namespaced,
        )
        limits = ProxyLimits(
            inject_owner=self.inject_owner,
            blacklist=frozenset(GroupVersionKind(*kind) for kind in controlled.watch.blacklist),
        )
        if self.proxy is None:
            raise ConfigError("the proxy is not running")
        session = self.proxy.open_session(owner, limits, self.directory)
        try:
            yield session.kubeconfig
        finally:
            self.proxy.close_session(session)

    async def add_dependent(
        self,
        owner: Owner,
        resource: ResourceType,
        by_annotation: bool,
    ) -> None:
        """The proxy is about to create an object for an owner."""
        if self.loop is not None:
            self.loop.watch_dependent(owner.gvk, resource, by_annotation=by_annotation)

    def write_seen(self, owner: Owner, write: OwnWrite) -> None:
        """The proxy has seen a run's write succeed."""
        if self.loop is not None:
            name = (owner.namespace if owner.namespaced else "", owner.name)
            self.loop.note_write(owner.gvk, name, write.uid, write.resource_version)


@dataclass(slots=True)
class Stop:
    """The wish to end, from a signal; the second one ends the process at once."""

    wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def install(self) -> None:
        """Listen to SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, number)

    def _on_signal(self, number: signal.Signals) -> None:
        if self.wanted.is_set():
            os._exit(1)
        _LOG.info("Stopping", signal=number.name)
        self.wanted.set()


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
        access = self._access()
        self._options.validate()
        self._apply_paths()
        self._tell_namespaces()
        watches = self._load()
        plans = self._plans(watches)
        with tempfile.TemporaryDirectory(prefix="ansible-operator-") as private:
            async with HttpClient(access) as client:
                await self._serve(client, plans, Path(private))

    def _access(self) -> ClusterAccess:
        try:
            return load_access()
        except ConfigError:
            _LOG.error("Failed to get config.")
            raise

    def _load(self) -> list[Watch]:
        try:
            return load(self._options.watches_file)
        except ConfigError:
            _LOG.error("Failed to load watches.")
            raise

    def _apply_paths(self) -> None:
        """Set the search paths of this process and of every run (runner.md §1.3)."""
        for name, value in (
            ("ANSIBLE_ROLES_PATH", self._options.ansible_roles_path),
            ("ANSIBLE_COLLECTIONS_PATH", self._options.ansible_collections_path),
        ):
            if value:
                os.environ[name] = value

    def _tell_namespaces(self) -> None:
        if self._namespaces:
            _LOG.info("Watching namespaces", namespaces=self._namespaces)
        else:
            _LOG.info("Watching all namespaces")

    def _plans(self, watches: Sequence[Watch]) -> list[Plan]:
        options, plans = self._options, []
        for watch in watches:
            kind = watch.kind
            if watch.selector is not None:
                watch.selector.validate()
            limit = watch.max_concurrent_reconciles or self._default_limit()
            plan = Plan(
                watch=watch,
                limit=max_concurrent_reconciles(kind.group, kind.kind, limit, os.environ),
                period=watch.reconcile_period or options.reconcile_period,
                verbosity=ansible_verbosity(
                    kind.group, kind.kind, options.ansible_verbosity, os.environ
                ),
            )
            names = {f"Options.{name.title()}": value for name, value in kind._asdict().items()}
            _LOG.info("Watching resource", **names)
            plans.append(plan)
        return plans

    def _default_limit(self) -> int:
        given = self._options.max_concurrent_reconciles
        return available_cpus() if given is None else max(1, given)

    def _settings(self, private: Path) -> RunSettings:
        options, env = self._options, os.environ
        inventory = env.get("ANSIBLE_INVENTORY", "")
        return RunSettings(
            run_root=options.run_directory,
            session_root=private,
            command_line=unquoted(options.ansible_args),
            inventory=Path(inventory) if inventory else None,
            gather_facts=env.get("ANSIBLE_GATHERING") != "explicit",
            log_level=options.log_level,
            raw_output=integer_variable(env, "ANSIBLE_VERBOSITY") > 0,
            debug_logs=boolean_variable(env, "ANSIBLE_DEBUG_LOGS"),
            inject_owner=options.inject_owner_ref,
        )

    async def _serve(self, client: HttpClient, plans: Sequence[Plan], private: Path) -> None:
        options = self._options
        total = options.max_concurrent_runs or max(
            [2 * available_cpus(), *(plan.limit for plan in plans)]
        )
        engine = make_engine(options.engine, preload=_preload(plans), max_runs=total)
        mapper = DiscoveryMapper(client)
        recorder = EventRecorder(client, "ansible-operator")
        bridge = _Bridge(options.inject_owner_ref, private)
        async with SharedInformers(client, self._namespaces) as pool:
            loop = bridge.loop = ControlLoop(
                Surroundings(
                    client=client,
                    mapper=mapper,
                    pool=pool,
                    engine=engine,
                    proxy=bridge,
                    recorder=recorder,
                    settings=self._settings(private),
                ),
                plans,
                total,
            )
            async with LoopbackProxy(
                client,
                mapper,
                pool,
                add_dependent=bridge.add_dependent,
                write_seen=bridge.write_seen,
                namespaces=self._namespaces,
                port=options.proxy_port,
            ) as proxy:
                bridge.proxy = proxy
                await self._supervise(engine, loop, recorder)

    async def _supervise(self, engine: Engine, loop: ControlLoop, recorder: EventRecorder) -> None:
        """Run the parts that work by themselves until the stop, then end them in order."""
        try:
            async with asyncio.TaskGroup() as group:
                recording = group.create_task(recorder.run(), name="events")
                working = group.create_task(self._work(engine, loop), name="controllers")
                await self._stop.wanted.wait()
                working.cancel()
                await asyncio.wait([working])
                await loop.drain(self._options.graceful_shutdown_timeout)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(recorder.flush(), FLUSH_SECONDS)
                recording.cancel()
        finally:
            await loop.drain(0)
            await engine.stop()

    async def _work(self, engine: Engine, loop: ControlLoop) -> None:
        """Warm the engine while caches fill; then reconcile."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._warm(engine), name="engine start")
            group.create_task(loop.synchronize(), name="caches")
        await loop.work()

    async def _warm(self, engine: Engine) -> None:
        async with asyncio.timeout(ENGINE_START_SECONDS):
            await engine.start()


def _preload(plans: Sequence[Plan]) -> list[Path]:
    """Directories of all roles that runs may play."""
    plays = [plan.watch.play for plan in plans]
    plays += [plan.watch.finalizer.play for plan in plans if plan.watch.finalizer]
    return list(dict.fromkeys(Path(play.role) for play in plays if play.role))


def serve(options: Options) -> int:
    """Run the operator in a fresh event loop; the exit code of the process."""
    problems: list[BaseException] = []
    try:
        asyncio.run(Manager(options).run())
    except* (OperatorError, OSError, TimeoutError) as group:
        problems += _flat(group)
    for problem in problems:
        known = isinstance(problem, ConfigError)
        text = str(problem) or type(problem).__name__
        _LOG.error("Proxy or operator exited with error." if not known else text, error=text)
    if not problems:
        _LOG.info("Exiting.")
    return 1 if problems else 0


def _flat(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _flat(error)
        else:
            yield error
