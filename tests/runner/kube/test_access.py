# SPDX-License-Identifier: Apache-2.0
"""Finding the API server and our identity."""

import base64
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_operator.errors import ConfigError, KubeError
from ansible_operator.kube.access import ClusterAccess, from_kubeconfig, load_access
from ansible_operator.kube.tokens import ExecToken, FileToken


def write(path: Path, **parts: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))
    return path


def config(
    path: Path, user: dict[str, Any] | None = None, server: str = "http://127.0.0.1:1/", **more: Any
) -> Path:
    return write(
        path,
        **{
            "current-context": "c",
            "contexts": [
                {"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "ns"}}
            ],
            "clusters": [{"name": "k", "cluster": {"server": server, **more}}],
            "users": [{"name": "u", "user": user or {}}],
        },
    )


async def token_of(access: ClusterAccess) -> str:
    assert access.token is not None
    return await access.token.token()


async def test_a_file(tmp_path: Path) -> None:
    access = from_kubeconfig([config(tmp_path / "config", {"token": "t"})])
    assert (access.server, access.namespace) == ("http://127.0.0.1:1", "ns")
    assert access.ssl_context is None
    assert await token_of(access) == "t"


async def test_of_several_files_the_first_that_names_something_wins(tmp_path: Path) -> None:
    first = write(
        tmp_path / "a",
        **{
            "current-context": "mine",
            "contexts": [{"name": "mine", "context": {"cluster": "k", "user": "u"}}],
        },
    )
    second = config(tmp_path / "sub" / "b", {"tokenFile": "token"})
    (tmp_path / "sub" / "token").write_text("from file\n")
    environment = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"}
    access = load_access(environment)
    assert access.server == "http://127.0.0.1:1"
    assert await token_of(access) == "from file"


async def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("pod token")
    (tmp_path / "namespace").write_text("here\n")
    (tmp_path / "ca.crt").write_text(_authority())
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    access = load_access(environment, tmp_path)
    assert access.server == "https://[fd00::1]:6443"
    assert access.namespace == "here"
    assert isinstance(access.token, FileToken)
    assert await token_of(access) == "pod token"


def _authority() -> str:
    import certifi  # noqa: PLC0415  # any real certificate does

    text = Path(certifi.where()).read_text()
    end = "-----END CERTIFICATE-----"
    return text[text.index("-----BEGIN") : text.index(end) + len(end)] + "\n"


def test_the_home_folder_is_the_last_place(tmp_path: Path) -> None:
    config(tmp_path / ".kube" / "config")
    assert load_access({"HOME": str(tmp_path)}, tmp_path).server == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "context '' is not in contexts"),
        ({"current-context": "c"}, "context 'c' is not in contexts"),
        (
            {"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k"}}]},
            "cluster 'k' is not in clusters",
        ),
        (
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k"}}],
                "clusters": [{"name": "k", "cluster": {}}],
            },
            "cluster 'k' has no server",
        ),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_kubeconfig([write(tmp_path / "config", **parts)])


@pytest.mark.parametrize("text", ["[", "- a list"])
def test_broken_files(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)
    with pytest.raises(ConfigError, match="kubeconfig"):
        from_kubeconfig([file])


def test_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no Kubernetes configuration was found"):
        load_access({"HOME": str(tmp_path)}, tmp_path)
    with pytest.raises(ConfigError, match="does not exist"):
        load_access({"KUBECONFIG": str(tmp_path / "none")})


def test_tls(tmp_path: Path) -> None:
    authority = base64.b64encode(_authority().encode()).decode()
    more = {"certificate-authority-data": authority, "tls-server-name": "name"}
    access = from_kubeconfig([config(tmp_path / "a", server="https://127.0.0.1:1", **more)])
    assert access.ssl_context is not None
    assert access.ssl_context.verify_mode is ssl.CERT_REQUIRED
    assert access.server_name == "name"
    loose = config(tmp_path / "b", server="https://x", **{"insecure-skip-tls-verify": True})
    context = from_kubeconfig([loose]).ssl_context
    assert context is not None
    assert context.verify_mode is ssl.CERT_NONE


def test_an_unreadable_certificate_is_named(tmp_path: Path) -> None:
    missing = config(tmp_path / "a", server="https://x", **{"certificate-authority": "no.crt"})
    with pytest.raises(ConfigError, match="certificate-authority cannot be read"):
        from_kubeconfig([missing])


def plugin(tmp_path: Path, script: str) -> Path:
    program = tmp_path / "plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    user = {"exec": {"command": "./plugin", "env": [{"name": "WHO", "value": "me"}]}}
    return config(tmp_path / "config", user)


async def test_the_token_of_a_credential_plugin_is_cached(tmp_path: Path) -> None:
    answer = json.dumps({"status": {"token": "from-plugin-$WHO"}}).replace('"', '\\"')
    access = from_kubeconfig([plugin(tmp_path, f'echo x >> {tmp_path}/calls; echo "{answer}"')])
    assert isinstance(access.token, ExecToken)
    assert await access.token.token() == "from-plugin-me"
    assert await access.token.token() == "from-plugin-me"
    assert (tmp_path / "calls").read_text() == "x\n"
    await access.token.token(renew=True)
    assert (tmp_path / "calls").read_text() == "x\nx\n"


@pytest.mark.parametrize("script", ["exit 3", "echo nonsense", "echo '{}'"])
async def test_a_plugin_that_fails_is_named(tmp_path: Path, script: str) -> None:
    access = from_kubeconfig([plugin(tmp_path, script)])
    with pytest.raises(KubeError, match="credential plugin"):
        await token_of(access)
