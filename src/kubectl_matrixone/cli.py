# SPDX-License-Identifier: Apache-2.0
"""The command line."""

import argparse
import dataclasses
import getpass
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml

from . import changes, doctor, logs, report, sql
from .errors import PluginError, UsageError
from .kubectl import Json, Kubectl, table_in
from .reading import chosen, read
from .status import screen
from .terminal import Colour, Style

_FAILED, _USAGE, _NOT_READY, _INTERRUPTED = 1, 2, 3, 130
_WATCH_SECONDS: Final = 2.0
_CLEAR: Final = "\033[H\033[2J"

_VERDICTS: Final = {
    doctor.Verdict.GOOD: Colour.GOOD,
    doctor.Verdict.WARNING: Colour.WARNING,
    doctor.Verdict.BAD: Colour.BAD,
    doctor.Verdict.UNKNOWN: Colour.WARNING,
}

Command = Callable[[argparse.Namespace, Kubectl], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    1: it could not be carried out; 2: the command line makes no sense; 3: the cluster is not Ready
    (``status --exit-code``).
    """
    options = command_line().parse_args(arguments)
    try:
        return int(options.command(options, _kubectl(options)))
    except UsageError as error:
        _say_error(error)
        return _USAGE
    except PluginError as error:
        _say_error(error)
        return _FAILED
    except BrokenPipeError:
        # Whoever reads, as head does, has enough; Python would complain again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED


def _say_error(error: Exception) -> None:
    print(f"error: {error}", file=sys.stderr)


def _kubectl(options: argparse.Namespace) -> Kubectl:
    names = ("kubeconfig", "context", "as")
    given = ((name, getattr(options, f"kubectl_{name}")) for name in names)
    return Kubectl(
        tuple(f"--{name}={value}" for name, value in given if value), options.namespace or ""
    )


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands; each sets ``command``, which carries it out."""
    parser = argparse.ArgumentParser(
        prog="kubectl matrixone", description="See and change MatrixOne clusters."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_status(commands)
    _add_sql(commands)
    _add_logs(commands)
    command = _about_cluster(
        commands, "report", "write a zip for a support case, without secrets", _report
    )
    command.add_argument("-C", "--directory", type=Path, default=Path(), help="of the zip")
    for name, text in (
        ("pause", "keep the operator away from a cluster"),
        ("resume", "let the operator act on a cluster again"),
    ):
        _about_cluster(commands, name, text, _PAUSING[name])
    command = _about_cluster(commands, "restart", "replace the Pods, as after a change", _restart)
    command.add_argument("--part", default="", metavar="KIND/NAME", help="only a set: cnset/mo-tp")
    for name, text in (
        ("cordon", "keep new sessions away from a compute node"),
        ("uncordon", "let sessions come to a compute node again"),
    ):
        command = _command(commands, name, text, _cordon)
        command.set_defaults(is_cordoned=name == "cordon")
        command.add_argument("pod", metavar="POD")
    _add_upgrade(commands)
    _add_doctor(commands)
    return parser


def _add_doctor(commands: Any) -> None:
    text = "look for what would keep a cluster from working here"
    _command(commands, "doctor", text, _doctor)


def _command(commands: Any, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text)
    command.set_defaults(command=run)
    command.add_argument("-n", "--namespace", help="of the cluster")
    for option in ("kubeconfig", "context", "as"):
        command.add_argument(
            f"--{option}", dest=f"kubectl_{option}", metavar="VALUE", help="as of kubectl"
        )
    return command


def _about_cluster(commands: Any, name: str, text: str, run: Command) -> argparse.ArgumentParser:
    command = _command(commands, name, text, run)
    command.add_argument(
        "cluster", nargs="?", default="", metavar="CLUSTER", help="if there are several"
    )
    return command


def _add_status(commands: Any) -> None:
    command = _about_cluster(commands, "status", "show a cluster on one screen", _status)
    command.add_argument("-w", "--watch", action="store_true", help="until interrupted")
    command.add_argument("-o", "--output", choices=("text", "json", "yaml"), default="text")
    command.add_argument(
        "--exit-code", action="store_true", help=f"{_NOT_READY} unless the cluster is Ready"
    )


def _add_sql(commands: Any) -> None:
    command = _about_cluster(commands, "sql", "open a SQL session", _sql)
    command.add_argument("-e", "--execute", action="append", default=[], metavar="STATEMENT")
    command.add_argument("-d", "--database", default="")
    command.add_argument("-l", "--login", default="", help="another user than root; asks for it")


def _add_logs(commands: Any) -> None:
    command = _about_cluster(commands, "logs", "show the logs of all Pods by time", _logs)
    command.add_argument("-f", "--follow", action="store_true", help="until interrupted")
    command.add_argument("-p", "--previous", action="store_true", help="before the last restarts")
    command.add_argument("--since", default="", metavar="DURATION", help="such as 10m")
    command.add_argument("--tail", type=int, default=1000, help="last lines of each Pod (1000)")
    command.add_argument("--grep", default="", metavar="PATTERN", help="regular expression")


def _add_upgrade(commands: Any) -> None:
    text = "change the version of MatrixOne, or hold a change"
    command = _about_cluster(commands, "upgrade", text, _upgrade)
    action = command.add_mutually_exclusive_group(required=True)
    action.add_argument("--to", metavar="VERSION", help="ask for this version")
    action.add_argument("--pause", action="store_true", help="before the point of no return")
    action.add_argument("--resume", action="store_true")
    action.add_argument("--cancel", action="store_true", help="before the point of no return")


def _status(options: argparse.Namespace, kubectl: Kubectl) -> int:
    if options.watch and options.output != "text":
        raise UsageError("--watch shows text; leave --output out")
    style = Style.of(sys.stdout)
    while True:
        cluster = read(kubectl, chosen(kubectl, options.cluster))
        if options.output == "text":
            text = screen(cluster, datetime.now(UTC), style)
        else:
            text = _document(dataclasses.asdict(cluster), options.output)
        print((_CLEAR if options.watch and style.width else "") + text, end="", flush=True)
        if not options.watch:
            return _NOT_READY if options.exit_code and cluster.ready != "True" else 0
        time.sleep(_WATCH_SECONDS)


def _document(facts: Json, form: str) -> str:
    text = json.dumps(facts, indent=2, default=lambda moment: moment.isoformat())
    return text + "\n" if form == "json" else yaml.safe_dump(json.loads(text), sort_keys=False)


def _sql(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    status = table_in(cluster, "status")
    if options.login:
        login = sql.Login(options.login, getpass.getpass(f"Password of {options.login}: "))
    else:
        login = sql.root_login(kubectl, table_in(status, "credentialRef").get("name") or "")
    host, port = status.get("host"), status.get("port")
    with sql.tunnel(kubectl, f"{host}:{port}" if host and port else "") as local:
        if not options.execute and sys.stdin.isatty():
            code = sql.client_session(local, login, options.database)
            return _converse(local, login, options.database) if code is None else code
        given = options.execute or sql.statements_in(sys.stdin)
        with sql.connected(local, login, options.database) as connection:
            for statement in given:
                print("\n".join(sql.answer(connection, statement, Style.of(sys.stdout))))
    return 0


def _converse(port: int, login: sql.Login, database: str) -> int:
    """Ask for statements until the end of the input: the simple client."""
    with sql.connected(port, login, database) as connection:
        print("A line that ends with a semicolon runs a statement; end with Ctrl-D.")
        for statement in sql.statements_in(_prompted()):
            try:
                print("\n".join(sql.answer(connection, statement, Style.of(sys.stdout))))
            except PluginError as error:
                _say_error(error)
    return 0


def _prompted() -> Any:
    while True:
        try:
            yield input("matrixone> ")
        except EOFError:
            print()
            return


def _logs(options: argparse.Namespace, kubectl: Kubectl) -> int:
    name = chosen(kubectl, options.cluster)["metadata"]["name"]
    fields = ("tail", "since", "follow", "previous", "grep")
    given = {name: getattr(options, name) for name in fields}
    logs.show(kubectl, logs.Wanted(name, **given), sys.stdout)
    return 0


def _report(options: argparse.Namespace, kubectl: Kubectl) -> int:
    cluster = chosen(kubectl, options.cluster)
    shows = sys.stderr.isatty()

    def say(page: str) -> None:
        if shows:
            print(f"\r\033[Kreading {page}", end="", file=sys.stderr, flush=True)

    path = report.write(kubectl, cluster, options.directory, datetime.now(UTC), say)
    say("done\n")
    print(f"{path}: look through it before you send it; what could not be read is in not-read.txt")
    return 0


def _changing(change: Callable[[argparse.Namespace, Kubectl, Json], str]) -> Command:
    """Return the command of a change: it says what it has done."""

    def run(options: argparse.Namespace, kubectl: Kubectl) -> int:
        print(change(options, kubectl, chosen(kubectl, options.cluster)))
        return 0

    return run


_PAUSING: Final = {
    "pause": _changing(lambda _options, kubectl, cluster: changes.pause(kubectl, cluster)),
    "resume": _changing(lambda _options, kubectl, cluster: changes.resume(kubectl, cluster)),
}


@_changing
def _restart(options: argparse.Namespace, kubectl: Kubectl, cluster: Json) -> str:
    return changes.restart(kubectl, cluster, options.part, datetime.now(UTC))


@_changing
def _upgrade(options: argparse.Namespace, kubectl: Kubectl, cluster: Json) -> str:
    if options.to:
        return changes.upgrade(kubectl, cluster, options.to)
    if options.cancel:
        return changes.cancel_upgrade(kubectl, cluster)
    return changes.hold_upgrade(kubectl, cluster, is_held=options.pause)


def _doctor(_options: argparse.Namespace, kubectl: Kubectl) -> int:
    style, failed = Style.of(sys.stdout), False
    for found in doctor.examine(kubectl):
        verdict = style.paint(found.verdict.value.ljust(7), _VERDICTS[found.verdict])
        print(f"{verdict}  {found.name.ljust(10)}  {found.message}", flush=True)
        failed |= found.verdict is doctor.Verdict.BAD
    return _FAILED if failed else 0


def _cordon(options: argparse.Namespace, kubectl: Kubectl) -> int:
    print(changes.cordon(kubectl, options.pod, is_cordoned=options.is_cordoned))
    return 0
