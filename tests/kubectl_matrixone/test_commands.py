# SPDX-License-Identifier: Apache-2.0
"""Commands on an API server, without an operator: what they show, change and refuse."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.bed import TestBed
from tests.support.namespaces import install
from tests.support.plugin import Plugin
from tests.support.waiting import eventually

from . import objects
from .space import Space, tiny_cluster, tiny_pod

pytestmark = pytest.mark.api

Json = dict[str, Any]
SETS = "logsets,dnsets,cnsets,proxysets"
HELD = {"phase": "Held", "from": "2.2.2", "to": "3.0.18", "pointOfNoReturn": "Ahead"}


@pytest.fixture(scope="module")
def space(fake_testbed: TestBed) -> Iterator[Space]:
    install(fake_testbed)
    with fake_testbed.namespace("plugin") as namespace:
        made = Space(fake_testbed, namespace)
        made.apply(tiny_cluster("mo"), objects.cluster(upgrade=HELD)["status"])
        labels = {"matrixorigin.io/cluster": "mo", "matrixorigin.io/component": "CNSet"}
        made.apply(tiny_pod("mo-tp-cn-a", labels))
        made.apply(tiny_pod("other", {}))
        yield made


def test_the_only_cluster_of_a_namespace_needs_no_name(space: Space, plugin: Plugin) -> None:
    shown = plugin("status", "-n", space.name)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"MatrixOneCluster {space.name}/mo  Ready  3.0.18\n")
    assert "mo-tp-cn-a" in shown.stdout
    assert "Upgrade from 2.2.2 to 3.0.18: Held" in shown.stdout
    assert "\033" not in shown.stdout
    for form, parse in (("json", json.loads), ("yaml", yaml.safe_load)):
        facts = parse(plugin("status", "mo", "-n", space.name, "-o", form).stdout)
        assert (facts["name"], facts["upgrade"]["phase"], facts["unread"]) == ("mo", "Held", [])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("status", "absent"), 1, '"absent" not found'),
        (("status", "-n", "nowhere"), 1, "no MatrixOneCluster in this namespace"),
        (("status", "--context", "none"), 1, 'context "none" does not exist'),
        (("status", "--watch", "-o", "json"), 2, "leave --output out"),
        (("status", "--kubeconfig", "/nowhere"), 1, "/nowhere"),
        (("restart", "mo", "--part", "cnset"), 1, "such as cnset/mo-tp"),
        (("restart", "mo", "--part", "pod/mo-tp-cn-a"), 1, "names no set"),
        (("restart", "mo", "--part", "cnset/absent"), 1, '"absent" not found'),
        (("cordon", "other"), 1, "is no compute node"),
        (("upgrade", "mo"), 2, "one of the arguments"),
        (("upgrade", "mo", "--to", "1 0"), 1, "spec.version"),
        (("logs", "mo", "--grep", "("), 2, "is no regular expression"),
        (("sql", "mo"), 1, '"mo-credential" not found'),
        (("fly",), 2, "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_said(
    space: Space, plugin: Plugin, arguments: tuple[str, ...], code: int, said: str
) -> None:
    here = () if "-n" in arguments or arguments == ("fly",) else ("-n", space.name)
    ended = plugin(*arguments, *here)
    assert (ended.returncode, said in ended.stderr) == (code, True), ended
    assert "Traceback" not in ended.stderr


def test_a_cluster_that_is_not_ready_is_told_to_scripts(space: Space, plugin: Plugin) -> None:
    space.apply(tiny_cluster("new"))
    try:
        assert plugin("status", "new", "-n", space.name).returncode == 0
        assert plugin("status", "new", "-n", space.name, "--exit-code").returncode == 3
        assert plugin("status", "mo", "-n", space.name, "--exit-code").returncode == 0
        several = plugin("status", "-n", space.name)
        assert (several.returncode, "name one of them: mo, new" in several.stderr) == (1, True)
    finally:
        space.kubectl("delete", "mo", "new")


def test_pausing_restarting_and_cordoning_are_annotations(space: Space, plugin: Plugin) -> None:
    def done(*arguments: str) -> str:
        ended = plugin(*arguments, "-n", space.name)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    assert "leaves it alone" in done("pause", "mo")
    assert space.annotations("mo", "mo")["matrixorigin.io/paused"] == "true"
    space.kubectl("annotate", "mo", "mo", "matrixorigin.io/skip-sync=true")
    done("resume")
    assert not {"matrixorigin.io/paused", "matrixorigin.io/skip-sync"} & set(
        space.annotations("mo", "mo")
    )
    assert "kubectl matrixone unfence" in done("fence", "mo")
    assert space.annotations("mo", "mo")["matrixorigin.io/fenced"] == "true"
    assert "not fenced any more" in done("unfence")
    assert "matrixorigin.io/fenced" not in space.annotations("mo", "mo")
    done("restart", "mo")
    first = space.annotations("mo", "mo")["matrixorigin.io/restartedAt"]
    assert first.endswith("Z")
    assert "gets no new sessions" in done("cordon", "mo-tp-cn-a")
    assert "matrixorigin.io/store-cordon" in space.annotations("pod", "mo-tp-cn-a")
    assert "Pending, cordoned" in done("status") or "Running, cordoned" in done("status")
    assert "serves again" in done("uncordon", "mo-tp-cn-a")
    assert "matrixorigin.io/store-cordon" not in space.annotations("pod", "mo-tp-cn-a")


def test_a_cluster_is_put_to_sleep_and_woken(space: Space, plugin: Plugin) -> None:
    def run(*arguments: str) -> Any:
        return plugin(*arguments, "-n", space.name)

    def hibernation() -> Any:
        return space.get("mo", "mo")["spec"].get("hibernation")

    assert "falls asleep" in run("hibernate", "mo").stdout
    assert hibernation() == {"asleep": True, "scope": "Compute"}
    assert run("hibernate", "--scope", "Database").returncode == 0
    assert hibernation() == {"asleep": True, "scope": "Database"}
    late = run("hibernate", "--wait", "--timeout", "3s")
    assert (late.returncode, "has not ended within 3 s" in late.stderr) == (1, True)
    refused = run("wake", "--by-schedule")
    assert (refused.returncode, "has no schedule" in refused.stderr) == (1, True)
    assert "stays awake" in run("wake").stdout
    assert hibernation()["asleep"] is False
    schedule = {"sleep": "0 20 * * *", "wake": "0 7 * * *"}
    change = json.dumps({"spec": {"hibernation": {"schedule": schedule}}})
    space.kubectl("patch", "mo", "mo", "--type=merge", f"--patch={change}")
    assert "kubectl matrixone wake --by-schedule" in run("wake").stdout
    assert "follows its schedule" in run("wake", "--by-schedule").stdout
    assert hibernation() == {"scope": "Database", "schedule": schedule}
    space.kubectl("patch", "mo", "mo", "--type=merge", '--patch={"spec":{"hibernation":null}}')


def test_an_upgrade_is_held_and_taken_back(space: Space, plugin: Plugin) -> None:
    def upgrade(*arguments: str) -> Any:
        return plugin("upgrade", "mo", "-n", space.name, *arguments)

    assert upgrade("--to", "3.1.0").returncode == 0
    assert space.get("mo", "mo")["spec"]["version"] == "3.1.0"
    assert upgrade("--pause").returncode == 0
    assert space.get("mo", "mo")["spec"]["upgrade"]["paused"] is True
    assert upgrade("--resume").returncode == 0
    assert not space.get("mo", "mo")["spec"]["upgrade"].get("paused")
    assert upgrade("--cancel").returncode == 0
    assert space.get("mo", "mo")["spec"]["version"] == "2.2.2"
    space.apply(
        tiny_cluster("mo"), {"upgrade": {**HELD, "phase": "Updating", "pointOfNoReturn": "Passed"}}
    )
    late = upgrade("--cancel")
    assert (late.returncode, "past the point of no return" in late.stderr) == (1, True)
    space.apply(tiny_cluster("mo"), {"upgrade": {**HELD, "phase": "Completed"}})
    assert "no upgrade" in upgrade("--cancel").stderr
    space.apply(tiny_cluster("mo"), {"upgrade": HELD})


def test_a_user_with_few_rights_sees_what_may_be_seen(space: Space, plugin: Plugin) -> None:
    space.kubectl(
        "create", "role", "some", "--verb=get,list", "--resource=matrixoneclusters,cnsets"
    )
    space.kubectl("create", "rolebinding", "some", "--role=some", "--user=eve")
    shown = plugin("status", "mo", "-n", space.name, "--as", "eve")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"MatrixOneCluster {space.name}/mo")
    for kind in ("logsets", "pods", "persistentvolumeclaims", "backups"):
        assert f'cannot list resource "{kind}"' in shown.stdout
    refused = plugin("pause", "mo", "-n", space.name, "--as", "eve")
    assert (refused.returncode, "cannot patch resource" in refused.stderr) == (1, True)
    for name, verb in (("mo", "get"), ("", "list")):
        stranger = plugin("status", *filter(None, [name]), "-n", space.name, "--as", "mallory")
        assert (stranger.returncode, f"cannot {verb} resource" in stranger.stderr) == (1, True)


def test_a_report_has_what_a_maintainer_asks_for_and_no_secret(
    space: Space, plugin: Plugin, tmp_path: Path
) -> None:
    secret = "of-nobody-else"
    space.kubectl("create", "secret", "generic", "store", f"--from-literal=key={secret}")
    with_secret = tiny_pod("with-secret", {"matrixorigin.io/cluster": "mo"})
    with_secret["spec"]["containers"][0]["env"] = [{"name": "ANY", "value": secret}]
    space.apply(with_secret)
    space.apply(tiny_pod("of-a-backup", {"app.kubernetes.io/name": "matrixone"}))
    space.apply(tiny_pod("of-others", {"app.kubernetes.io/component": "backup"}))
    ended = plugin("report", "mo", "-n", space.name, "-C", str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    [path] = tmp_path.glob(f"matrixone-{space.name}-mo-*.zip")
    assert str(path) in ended.stdout
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as found:
        texts = {name.partition("/")[2]: found.read(name).decode() for name in found.namelist()}
    assert not [name for name, text in texts.items() if secret in text]
    assert "with-secret" in texts["objects/pods.yaml"]
    assert "spec:" in texts["objects/matrixoneclusters.core.matrixorigin.io.yaml"]
    assert texts["status.txt"].startswith(f"MatrixOneCluster {space.name}/mo")
    assert {"versions.yaml", "events.txt", "objects/nodes.yaml"} <= set(texts)
    assert "secrets" not in "".join(texts)
    logs = {name for name in (*texts, *texts["not-read.txt"].split()) if name.startswith("logs/")}
    assert any("of-a-backup" in name for name in logs)
    assert not any("of-others" in name for name in logs)
    nowhere = plugin("report", "mo", "-n", space.name, "-C", str(tmp_path / "absent"))
    assert (nowhere.returncode, "No such file" in nowhere.stderr) == (1, True)


def test_a_report_names_what_its_user_may_not_read(
    space: Space, plugin: Plugin, tmp_path: Path
) -> None:
    space.kubectl("create", "role", "report", "--verb=get,list", "--resource=matrixoneclusters")
    space.kubectl("create", "rolebinding", "report", "--role=report", "--user=frank")
    ended = plugin("report", "mo", "-n", space.name, "-C", str(tmp_path), "--as", "frank")
    assert ended.returncode == 0, ended.stderr
    [path] = tmp_path.glob("*.zip")
    with zipfile.ZipFile(path) as found:
        [name] = [one for one in found.namelist() if one.endswith("/not-read.txt")]
        unread = found.read(name).decode()
    for kind in ("pods", "nodes", "events"):
        assert f'"frank" cannot list resource "{kind}"' in unread


def test_the_doctor_says_what_is_missing(space: Space, plugin: Plugin) -> None:
    def lines(*arguments: str) -> dict[str, str]:
        ended = plugin("doctor", *arguments)
        found = [line.split(maxsplit=2) for line in ended.stdout.splitlines()]
        assert ended.returncode == int(any(one[0] == "failed" for one in found)), ended
        return {name: f"{verdict} {message}" for verdict, name, message in found}

    here = lines("-n", space.name)
    assert here["Kubernetes"].startswith("ok v1.")
    assert here["Kinds"] == "ok the kinds of core.matrixorigin.io are installed"
    assert here["Operator"].startswith("warning no Deployment of the operator")
    assert here["Nodes"].startswith("ok 3 of 3")
    assert here["Quota"] == "ok the namespace has no quota"
    assert here["Clock"].startswith("ok ")
    assert here["Rights"].startswith("ok ")
    space.kubectl("create", "quota", "full", "--hard=pods=0")
    try:
        # The quota's controller counts what is there; only then it is known to be used up.
        expected = "ResourceQuota full: pods "
        eventually(lambda: expected in lines("-n", space.name)["Quota"], what=expected)
    finally:
        space.kubectl("delete", "quota", "full")
    stranger = lines("-n", space.name, "--as", "mallory")
    assert stranger["Nodes"].startswith("unknown nodes is forbidden")
    assert "you may not get matrixoneclusters" in stranger["Rights"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("st",), ["status"]),
        (("",), None),
        (("status", "--ex"), ["--exit-code"]),
        (("status", "m"), ["mo"]),
        (("status", "x"), []),
        (("cordon", "mo-"), ["mo-tp-cn-a"]),
        (("fly", ""), []),
    ],
)
def test_the_shell_completes_commands_options_and_names(
    space: Space, plugin: Plugin, words: tuple[str, ...], expected: list[str] | None
) -> None:
    """As kubectl does: `__complete` is what its completion scripts call."""
    here = ("-n", space.name) if len(words) > 1 else ()
    *found, directive = plugin.completed(*words[:1], *here, *words[1:])
    assert directive == ":4"
    if expected is None:
        expected = ["backup", "backups", "cordon", "databases", "doctor", "drain", "hibernate"]
        expected += ["fence", "logs", "pause", "promote", "render", "report", "restart", "restore"]
        expected += ["resume", "sql", "status", "top", "uncordon", "unfence", "upgrade", "users"]
        expected += ["verify", "wake"]
    assert sorted(found) == sorted(expected)
