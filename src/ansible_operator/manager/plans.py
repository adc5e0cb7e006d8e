# SPDX-License-Identifier: Apache-2.0
"""What flags and environment mean for each watch and for all runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ansible_operator.logs import get_logger
from ansible_operator.loop.control import Plan
from ansible_operator.loop.settings import RunSettings
from ansible_operator.options import (
    Options,
    available_cpus,
    boolean_variable,
    integer_variable,
    unquoted,
    watched_namespaces,
)
from ansible_operator.watches import (
    Isolation,
    Watch,
    ansible_verbosity,
    max_concurrent_reconciles,
)

_LOG = get_logger("cmd")


def make_plans(
    watches: Sequence[Watch], options: Options, environ: Mapping[str, str]
) -> list[Plan]:
    """Concurrency, period and verbosity of every watch; the environment wins over the file.

    Raises:
        ConfigError: a selector cannot be used.
    """
    given = options.max_concurrent_reconciles
    usual = available_cpus() if given is None else max(1, given)
    plans = []
    for watch in watches:
        kind = watch.kind
        if watch.all_namespaces_only and watched_namespaces(environ):
            _LOG.info("Not watching resource of all namespaces", kind=kind.kind, group=kind.group)
            continue
        if watch.selector is not None:
            watch.selector.validate()
        limit = watch.max_concurrent_reconciles or usual
        plans.append(
            Plan(
                watch=watch,
                limit=max_concurrent_reconciles(kind.group, kind.kind, limit, environ),
                period=watch.reconcile_period or options.reconcile_period,
                verbosity=ansible_verbosity(
                    kind.group, kind.kind, options.ansible_verbosity, environ
                ),
            )
        )
        names = {f"Options.{name.title()}": value for name, value in kind._asdict().items()}
        _LOG.info("Watching resource", **names)
    return plans


def total_runs(plans: Sequence[Plan], options: Options) -> int:
    """Runs of all kinds at the same time: never less than a single kind is allowed.

    A kind without a run may always have one more; see :func:`most_runs`.
    """
    usual = max([2 * available_cpus(), *(plan.limit for plan in plans)])
    return options.max_concurrent_runs if options.max_concurrent_runs > 0 else usual


def most_runs(plans: Sequence[Plan], total: int) -> int:
    """Runs at the same time when all kinds have one that is beyond the total."""
    return total + max(0, len(plans) - 1)


def make_settings(options: Options, environ: Mapping[str, str], cluster: str) -> RunSettings:
    """What is the same for all runs.

    Args:
        options: the flags.
        environ: the process environment.
        cluster: the API server's URL.
    """
    inventory = environ.get("ANSIBLE_INVENTORY", "")
    return RunSettings(
        run_root=options.run_directory,
        cluster=cluster,
        command_line=unquoted(options.ansible_args),
        inventory=Path(inventory) if inventory else None,
        gather_facts=environ.get("ANSIBLE_GATHERING") != "explicit",
        log_level=options.log_level,
        raw_output=integer_variable(environ, "ANSIBLE_VERBOSITY") > 0,
        annotated_verbosity=options.max_annotated_verbosity,
        total_artifacts=options.max_artifacts,
        debug_logs=boolean_variable(environ, "ANSIBLE_DEBUG_LOGS"),
    )


def checks_to_load(plans: Sequence[Plan]) -> list[str]:
    """Names of all checks and probes that may decide whether a run is needed."""
    named = [name for plan in plans for name in (plan.watch.precheck, plan.watch.probe.test)]
    return list(dict.fromkeys(filter(None, named)))


def isolations(plans: Sequence[Plan]) -> frozenset[Isolation]:
    """All that watches ask for."""
    return frozenset(plan.watch.isolation for plan in plans)


def roles_to_load(plans: Sequence[Plan]) -> list[Path]:
    """Directories of all roles that runs may play, and of those beside them.

    Roles import others of their collection or project; what these use is to be loaded, too.
    """
    plays = [plan.watch.play for plan in plans]
    plays += [plan.watch.finalizer.play for plan in plans if plan.watch.finalizer]
    named = [Path(play.role) for play in plays if play.role]
    beside = [
        other
        for folder in dict.fromkeys(role.parent for role in named)
        for other in sorted(folder.iterdir())
        if (other / "tasks").is_dir()
    ]
    return list(dict.fromkeys([*named, *beside]))
