# SPDX-License-Identifier: Apache-2.0
"""The dashboard, and the program that writes its configuration."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import errors
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.webui import rendering as webui
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import resources as r
from tests.support.installed import installed


def test_objects() -> None:
    found = [(o["kind"], o["metadata"]["name"]) for o in r.render(r.webui())]
    assert found[1:] == [
        ("Service", "mo-webui"),
        ("Deployment", "mo-webui"),
        ("PodDisruptionBudget", "mo-webui"),
        ("NetworkPolicy", "mo-webui"),
    ]
    service = r.find(r.render(r.webui()), "Service")["spec"]
    assert [(port["name"], port["port"]) for port in service["ports"]] == [("web", 8001)]


def test_configuration_points_at_the_compute_nodes_and_holds_no_password() -> None:
    objects = r.render(r.webui(config='[db]\npassword = "x"\n[log]\nlevel = "debug"\n'))
    found = r.config(objects)
    assert found["db"] == {"host": "mo-tp-cn.prod.svc", "port": 6001}
    assert found["log"] == {"level": "info", "format": "console"}
    assert found["server"] == {
        "host": "0.0.0.0",  # noqa: S104
        "port": 8007,
        "tokenEffectiveTime": 2,
        "mode": "playground",
    }
    assert list(r.config_map(objects)["data"]) == ["config.toml"]


def test_credential_is_that_of_the_cluster() -> None:
    cn_set = r.cnset()
    cn_set["metadata"]["labels"] = {"matrixorigin.io/cluster": "big"}

    def secret(subject: r.Json, cn: r.Json) -> str:
        writer = r.pod(r.render(subject, cn_set=cn))["initContainers"][0]
        env = {entry["name"]: entry for entry in writer["env"]}
        assert env["DB_USERNAME"]["valueFrom"]["secretKeyRef"]["key"] == "username"
        found: str = env["DB_PASSWORD"]["valueFrom"]["secretKeyRef"]["name"]
        return found

    assert secret(r.webui(), r.cnset()) == "mo-credential"
    assert secret(r.webui(), cn_set) == "big-credential"
    assert secret(r.webui(credentialSecretRef={"name": "own"}), cn_set) == "own"


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        (None, "matrixorigin/dashboard", "0.1.0"),
        ("reg:5000/dash:0.2.0", "reg:5000/dash", "0.2.0"),
        ("dash:backend-0.3.0", "dash", "0.3.0"),
        ("dash:frontend-0.3.0", "dash", "0.3.0"),
    ],
)
def test_images_follow_from_one(image: str | None, repository: str, tag: str) -> None:
    backend, frontend = r.pod(r.render(r.webui(image=image)))["containers"]
    assert (backend["name"], frontend["name"]) == ("mo-backend", "mo-frontend")
    assert backend["image"] == f"{repository}:backend-{tag}"
    assert frontend["image"] == f"{repository}:frontend-{tag}"


@pytest.mark.parametrize("image", ["dash", "reg:5000/dash", "dash@sha256:" + "0" * 64])
def test_image_without_a_tag_is_refused(image: str) -> None:
    with pytest.raises(errors.InvalidSpec, match=r"^spec\.image: must be <repository>:<tag>"):
        r.render(r.webui(image=image))


def test_fields_that_were_ignored_are_honoured() -> None:
    resources = {"requests": {"cpu": "1"}}
    subject = r.webui(
        resources=resources,
        imagePullPolicy="Always",
        updateStrategy={"maxSurge": 2},
        overlay={
            "env": [{"name": "A", "value": "1"}],
            "initContainers": [{"name": "mine", "image": "i"}],
            "sidecarContainers": [{"name": "mo-frontend", "image": "own"}],
        },
    )
    objects = r.render(subject)
    pod = r.pod(objects)
    assert [c["name"] for c in pod["initContainers"]] == ["write-config", "mine"]
    assert pod["containers"][0]["resources"] == resources
    assert pod["containers"][0]["env"] == [{"name": "A", "value": "1"}]
    assert pod["containers"][0]["imagePullPolicy"] == "Always"
    assert pod["containers"][1:] == [{"name": "mo-frontend", "image": "own"}]
    rolling = r.workload(objects)["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": 2, "maxUnavailable": "25%"}


def test_no_strategy_and_no_gate_is_needed() -> None:
    objects = r.render(r.webui())
    rolling = r.workload(objects)["spec"]["strategy"]["rollingUpdate"]
    assert rolling == {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert "readinessGates" not in r.pod(objects)


def test_without_a_dependency_the_group_tp_is_shown() -> None:
    subject = r.webui()
    del subject["deps"]
    assert r.config(r.render(subject))["db"]["host"] == "mo-tp-cn.prod.svc"


def write_config(folder: Path, awk: str, password: str) -> str:
    """Run the init container's program and return the password in the file that it writes."""
    tools = folder / awk
    tools.mkdir(exist_ok=True)
    target = tools / "awk"
    if not target.exists():
        target.symlink_to(installed(awk))
    template, result = folder / "template.toml", folder / "config.toml"
    template.write_text(r.config_text(r.render(r.webui())))
    subprocess.run(
        ["/bin/sh", "-c", webui.WRITE_CONFIG],
        env={
            "PATH": str(tools),
            "CONFIG_TEMPLATE": str(template),
            "CONFIG_FILE": str(result),
            "DB_USERNAME": "dump",
            "DB_PASSWORD": password,
        },
        check=True,
        timeout=20,
    )
    found = tomllib.loads(result.read_text())
    assert found["db"]["username"] == "dump"
    assert found["server"]["port"] == 8007
    text: str = found["db"]["password"]
    return text


@pytest.mark.parametrize("awk", ["mawk", "gawk", "busybox"])
@pytest.mark.parametrize("password", ["111", 'a"b\\c', "$(id) 'x' & \\n %s", "üñ日本"])
def test_password_arrives_unchanged(tmp_path: Path, awk: str, password: str) -> None:
    assert write_config(tmp_path, awk, password) == password


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1))
def test_any_printable_password_arrives_unchanged(tmp_path: Path, password: str) -> None:
    assert write_config(tmp_path, "mawk", password) == password
