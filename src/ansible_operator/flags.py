# SPDX-License-Identifier: Apache-2.0
"""The flags of ``run``."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ansible_operator.engine import KINDS
from ansible_operator.logs import TIME_FORMATS
from ansible_operator.options import Options
from ansible_operator.serve.webhook import CONFIGURATION_MODES
from ansible_operator.watches import InvalidDuration, parse_duration

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Duration(click.ParamType[float]):
    """A Go duration, as seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(str(value))
        except InvalidDuration as error:
            self.fail(str(error), param, ctx)


def _flag(name: str, help_text: str, *, default: bool | None = False) -> _Decorator:
    """A boolean flag as Go has it: alone it means true, ``=false`` is allowed."""
    return click.option(
        name, is_flag=False, flag_value="true", type=bool, default=default, help=help_text
    )


def _options(*decorators: _Decorator) -> _Decorator:
    def apply(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


_ANSIBLE = _options(
    click.option(
        "--watches-file",
        type=click.Path(path_type=Path),
        default="./watches.yaml",
        help="Path to the watches file.",
    ),
    _flag(
        "--strict-watches",
        "Refuse unknown keys and unset variables in the watches file; $$ is a dollar sign there.",
    ),
    click.option("--ansible-args", default="", help="Further arguments of ansible-playbook."),
    click.option("--ansible-collections-path", default="", help="Where collections are."),
    click.option("--ansible-roles-path", default="", help="Where roles are."),
    click.option(
        "--ansible-log-events",
        default="tasks",
        show_default=True,
        help="What to log of plays: nothing, tasks, everything.",
    ),
    click.option(
        "--ansible-verbosity",
        type=int,
        default=2,
        show_default=True,
        help="Number of v; overridden by ANSIBLE_VERBOSITY_<KIND>_<GROUP>.",
    ),
    click.option(
        "--max-annotated-verbosity",
        type=int,
        default=Options().max_annotated_verbosity,
        show_default=True,
        help="Most v that an object's annotation may ask for; more than 2 shows arguments.",
    ),
    click.option(
        "--max-artifacts",
        type=int,
        default=Options().max_artifacts,
        show_default=True,
        help="Runs whose artifacts are kept, of all objects together.",
    ),
    click.option(
        "--engine",
        type=click.Choice(KINDS),
        default=KINDS[0],
        show_default=True,
        help="What plays: forks of a warm process, or the ansible-runner package.",
    ),
    click.option(
        "--run-directory",
        type=click.Path(path_type=Path),
        default=Options().run_directory,
        show_default=True,
        help="Folder of the private data directories of objects.",
    ),
)
_CONTROL = _options(
    _flag(
        "--inject-owner-ref",
        "Make the CR the owner of the objects that its play creates.",
        default=True,
    ),
    click.option(
        "--max-concurrent-reconciles",
        type=int,
        default=None,
        help="Runs of one kind at the same time  [default: CPUs of the cgroup]",
    ),
    click.option(
        "--max-concurrent-runs",
        type=int,
        default=0,
        help="Runs of all kinds at the same time  [default: twice the CPUs]",
    ),
    click.option(
        "--runs-per-process",
        type=int,
        default=Options().runs_per_process,
        show_default=True,
        help="Runs that a process serves for watches with isolation: shared.",
    ),
    click.option(
        "--reconcile-period",
        type=_Duration(),
        default="10h",
        show_default=True,
        help="Time between two runs of an unchanged object; 0s for none.",
    ),
    click.option(
        "--proxy-port",
        type=int,
        default=8888,
        show_default=True,
        help="Port of the proxy for plays, on loopback.",
    ),
    click.option(
        "--metrics-api-port",
        type=int,
        default=5050,
        show_default=True,
        help="Port of the metrics API for plays, on loopback.",
    ),
    click.option(
        "--graceful-shutdown-timeout",
        type=_Duration(),
        default="30s",
        show_default=True,
        help="Time that running plays get to end when the process stops.",
    ),
)
_SERVING = _options(
    click.option(
        "--metrics-bind-address",
        default=None,
        help="Address of the metrics server; 0 disables it  [default: :8443]",
    ),
    click.option("--metrics-addr", default=None, help="Deprecated: --metrics-bind-address."),
    _flag("--metrics-secure", "Serve metrics over TLS."),
    _flag("--metrics-require-rbac", "Let the API server decide who may read metrics."),
    click.option(
        "--health-probe-bind-address",
        default=":6789",
        show_default=True,
        help="Address of the health probes.",
    ),
    _flag(
        "--enable-http2",
        "Allow HTTP/2, which no server of this process speaks: accepted, changes nothing.",
    ),
)
_LEADER = _options(
    _flag("--leader-elect", "Let only one of several replicas reconcile objects.", default=None),
    _flag("--enable-leader-election", "Deprecated: --leader-elect.", default=None),
    click.option("--leader-election-id", default="", help="Name of the Lease."),
    click.option("--leader-election-namespace", default="", help="Namespace of the Lease."),
    click.option(
        "--leader-elect-lease-duration",
        type=_Duration(),
        default="15s",
        show_default=True,
        help="Time after which a leader that does not renew the Lease is replaced.",
    ),
    click.option(
        "--leader-elect-renew-deadline",
        type=_Duration(),
        default="10s",
        show_default=True,
        help="Time in which a leader must renew the Lease.",
    ),
    click.option(
        "--leader-elect-resource-lock",
        default="configmapsleases",
        help="Deprecated and ignored: a Lease is used.",
    ),
    click.option(
        "--shards",
        type=int,
        default=1,
        show_default=True,
        help="Parts of all objects, shared by all replicas, which then all reconcile; 1: a leader.",
    ),
    click.option(
        "--shard-group",
        default="",
        help="With --shards: the version of the operator. Replicas of another one, or with another "
        "watches.yaml, wait until the last of these has ended  [default: the runner's version]",
    ),
)
_WEBHOOK = _options(
    click.option(
        "--webhook-bind-address",
        default="0",
        show_default=True,
        help="Address of the admission webhook, such as :9443; 0 disables it.",
    ),
    click.option("--webhook-service", default="", help="Name of the Service in front of it."),
    click.option(
        "--webhook-service-port",
        type=click.IntRange(1, 65535),
        default=443,
        show_default=True,
        help="Port of that Service.",
    ),
    click.option(
        "--webhook-namespace",
        default="",
        help="Namespace of that Service and of the certificates' Secret  [default: the pod's]",
    ),
    click.option(
        "--webhook-url-host",
        default="",
        help="Instead of a Service: host by which the API server reaches this process.",
    ),
    click.option(
        "--webhook-name",
        default="",
        help="Name of the configurations and the Secret  [default: <service>.<namespace>]",
    ),
    click.option(
        "--webhook-cert-dir",
        type=click.Path(path_type=Path),
        default=None,
        help="Folder with tls.crt, tls.key and ca.crt; without it they are created in a Secret.",
    ),
    click.option(
        "--webhook-configurations",
        type=click.Choice(CONFIGURATION_MODES),
        default=CONFIGURATION_MODES[0],
        show_default=True,
        help="Create the webhook configurations, inject the CA into existing ones, or leave them.",
    ),
    click.option(
        "--webhook-failure-policy",
        type=click.Choice(["Ignore", "Fail"]),
        default="Ignore",
        show_default=True,
        help="What the API server does when no answer comes.",
    ),
    click.option(
        "--webhook-timeout",
        type=_Duration(),
        default="5s",
        show_default=True,
        help="Time that the API server waits for an answer, 1s to 30s.",
    ),
)
_LOGGING = _options(
    _flag("--zap-devel", "Log for developers: text, debug level."),
    click.option(
        "--zap-encoder",
        type=click.Choice(["json", "console"]),
        default=None,
        help="Format of log lines  [default: json]",
    ),
    click.option(
        "--zap-log-level",
        default=None,
        help="debug, info, error, panic, or a number above 0  [default: info]",
    ),
    click.option(
        "--zap-stacktrace-level",
        type=click.Choice(["info", "error", "panic"]),
        default=None,
        help="Lowest level whose lines get a stack trace  [default: none, crashes only]",
    ),
    click.option(
        "--zap-time-encoding",
        type=click.Choice(list(TIME_FORMATS)),
        default="rfc3339",
        show_default=True,
        help="Format of times.",
    ),
)

run = _options(_ANSIBLE, _CONTROL, _SERVING, _LEADER, _WEBHOOK, _LOGGING)
"""All flags of ``run``."""
