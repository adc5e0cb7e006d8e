# SPDX-License-Identifier: Apache-2.0
"""Flags, environment and the command line without a cluster."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ansible_operator.cli import main
from ansible_operator.errors import ConfigError
from ansible_operator.loop.settings import EventLogLevel
from ansible_operator.manager.process import Manager
from ansible_operator.options import (
    Options,
    available_cpus,
    boolean_variable,
    split_address,
    unquoted,
    watched_namespaces,
)

ONE_ADDRESS = (
    "--webhook-bind-address needs either --webhook-service (the Service in front of the replicas) "
    "or --webhook-url-host (a process outside the cluster)"
)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (
            {"leader_elect": True, "enable_leader_election": True},
            "only one of --leader-elect and --enable-leader-election may be set",
        ),
        (
            {"metrics_addr": ":1", "metrics_bind_address": ":2"},
            "only one of --metrics-addr and --metrics-bind-address may be set",
        ),
        ({"runs_per_process": 0}, "--runs-per-process must be at least 1"),
        ({"max_artifacts": 0}, "--max-artifacts must be at least 1"),
        ({"max_annotated_verbosity": -1}, "--max-annotated-verbosity must not be negative"),
        (
            {"metrics_require_rbac": True},
            "--metrics-secure flag is required when --metrics-require-rbac is present",
        ),
        ({"webhook_bind_address": ":0"}, ONE_ADDRESS),
        (
            {"webhook_bind_address": ":0", "webhook_service": "a", "webhook_url_host": "b"},
            ONE_ADDRESS,
        ),
        (
            {"webhook_bind_address": ":0", "webhook_url_host": "a"},
            "--webhook-url-host needs --webhook-name",
        ),
        (
            {"webhook_bind_address": ":0", "webhook_service": "a", "webhook_timeout": 31.0},
            "--webhook-timeout must be between 1s and 30s",
        ),
    ],
)
def test_contradictions_are_refused(flags: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Options(**flags).validate()
    assert str(caught.value) == text


def test_an_explicit_address_wins_over_the_default() -> None:
    assert Options().metrics_address == ":8443"
    assert Options(metrics_addr=":1").metrics_address == ":1"
    assert Options(metrics_bind_address="0").metrics_address == "0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", None),
        (":8443", ("", 8443)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:9", ("::1", 9)),
    ],
)
def test_addresses(text: str, expected: tuple[str, int] | None) -> None:
    assert split_address(text) == expected


@pytest.mark.parametrize("text", ["", "8443", "host", "host:x", ":99999"])
def test_unusable_addresses(text: str) -> None:
    with pytest.raises(ConfigError):
        split_address(text)


def test_namespaces() -> None:
    assert watched_namespaces({}) == ()
    assert watched_namespaces({"WATCH_NAMESPACE": " a, ,b,a,"}) == ("a", "b")


def test_booleans_of_the_environment() -> None:
    assert boolean_variable({"X": "TRUE"}, "X")
    assert not boolean_variable({"X": "f"}, "X")
    assert not boolean_variable({"X": "yes please"}, "X")
    assert not boolean_variable({}, "X")


@pytest.mark.parametrize(
    ("text", "expected"), [("'--a b'", "--a b"), ("--a 'b'", "--a 'b'"), ("'", "'"), ("", "")]
)
def test_quotes_around_ansible_args(text: str, expected: str) -> None:
    assert unquoted(text) == expected


def test_unknown_log_levels_mean_tasks() -> None:
    assert Options(ansible_log_events="Everything").log_level is EventLogLevel.EVERYTHING
    assert Options(ansible_log_events="loud").log_level is EventLogLevel.TASKS


@pytest.mark.parametrize(
    ("content", "expected"), [("50000 100000", 1), ("100001 100000", 2), ("max 100000", 0)]
)
def test_the_limit_of_the_cgroup_counts(tmp_path: Path, content: str, expected: int) -> None:
    (tmp_path / "cpu.max").write_text(content)
    unlimited = available_cpus(tmp_path / "nowhere")
    assert available_cpus(tmp_path) == (min(unlimited, expected) if expected else unlimited)


def test_the_version_line() -> None:
    line = CliRunner().invoke(main, ["version"]).output
    assert line.startswith('ansible-operator version: "v')
    for part in ('commit: "', 'kubernetes version: "v', 'go version: "', 'GOOS: "', 'GOARCH: "'):
        assert part in line


def test_the_other_commands() -> None:
    runner = CliRunner()
    assert "--watches-file" in runner.invoke(main, ["help", "run"]).output
    assert "completion" in runner.invoke(main, ["help"]).output
    assert "_ANSIBLE_OPERATOR_COMPLETE" in runner.invoke(main, ["completion", "bash"]).output
    assert runner.invoke(main, ["completion", "dos"]).exit_code == 2


def test_search_paths_of_flags_reach_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_ROLES_PATH", "/before")
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", "/stays")
    Manager(Options(ansible_roles_path="/a:/b"))._apply_paths()
    assert os.environ["ANSIBLE_ROLES_PATH"] == "/a:/b"
    assert os.environ["ANSIBLE_COLLECTIONS_PATH"] == "/stays"


FLAGS = [
    "--watches-file",
    "--ansible-args",
    "--ansible-collections-path",
    "--ansible-roles-path",
    "--ansible-log-events",
    "--ansible-verbosity",
    "--inject-owner-ref",
    "--max-concurrent-reconciles",
    "--reconcile-period",
    "--proxy-port",
    "--metrics-bind-address",
    "--metrics-addr",
    "--metrics-secure",
    "--metrics-require-rbac",
    "--health-probe-bind-address",
    "--enable-http2",
    "--leader-elect",
    "--enable-leader-election",
    "--leader-election-id",
    "--leader-election-namespace",
    "--leader-elect-lease-duration",
    "--leader-elect-renew-deadline",
    "--leader-elect-resource-lock",
    "--graceful-shutdown-timeout",
    "--zap-devel",
    "--zap-encoder",
    "--zap-log-level",
    "--zap-stacktrace-level",
    "--zap-time-encoding",
]


def test_every_flag_of_the_contract_is_known() -> None:
    known = {option for param in main.commands["run"].params for option in param.opts}
    assert set(FLAGS) <= known


@pytest.mark.parametrize(
    "arguments",
    [
        ["--reconcile-period", "1d"],
        ["--zap-log-level", "loud"],
        ["--engine", "steam"],
        ["--leader-elect=perhaps"],
    ],
)
def test_unusable_flags_end_the_command(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, ["run", *arguments]).exit_code == 2


def operator(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ansible_operator", "run", *arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **environment},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_without_a_cluster_the_process_exits_with_1() -> None:
    done = operator()
    assert done.returncode == 1
    assert '"msg":"Failed to get config."' in done.stderr


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A kubeconfig of a server that nobody runs."""
    file = tmp_path / "kubeconfig"
    file.write_text(
        "current-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
    )
    return file


def test_an_unusable_run_directory_exits_with_1(tmp_path: Path, config: Path) -> None:
    watches = tmp_path / "watches.yaml"
    watches.write_text("[]\n")
    taken = tmp_path / "file"
    taken.write_text("")
    done = operator(
        f"--watches-file={watches}", f"--run-directory={taken / 'x'}", KUBECONFIG=str(config)
    )
    assert done.returncode == 1
    assert "choose another with --run-directory" in done.stderr


def test_an_unusable_watches_file_exits_with_1(tmp_path: Path, config: Path) -> None:
    watches = tmp_path / "watches.yaml"
    watches.write_text("- {version: v1, kind: K, role: nope}\n")
    done = operator("--watches-file", str(watches), KUBECONFIG=str(config))
    assert done.returncode == 1
    assert "role: nope was not found" in done.stderr
    assert "Failed to load watches." in done.stderr
