# SPDX-License-Identifier: Apache-2.0
"""Address of the API server and credentials for it.

The order is that of every Kubernetes tool: the files named by ``KUBECONFIG``, then the service
account of the pod, then ``~/.kube/config``.
"""

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from ansible_operator.errors import ConfigError
from ansible_operator.kube.tokens import ExecToken, FileToken, StaticToken, TokenSource

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One API server and one identity.

    Attributes:
        server: URL without a trailing slash.
        namespace: default namespace of the identity; ``""`` if there is none.
        ssl_context: how to verify and to authenticate; None for plain HTTP.
        token: source of the bearer token, if any.
        username: user of HTTP basic authentication; ``""`` for none.
        password: its password, never logged.
        proxy: URL of a forward proxy, ``""`` for none.
        server_name: name to expect in the server's certificate instead of the host.
    """

    server: str
    namespace: str = ""
    ssl_context: ssl.SSLContext | None = None
    token: TokenSource | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    proxy: str = ""
    server_name: str = ""


def load_access(
    environ: Mapping[str, str] | None = None, service_account: Path = SERVICE_ACCOUNT
) -> ClusterAccess:
    """Find the API server.

    Raises:
        ConfigError: nothing was found, or what was found cannot be used.
    """
    env = os.environ if environ is None else environ
    if named := env.get("KUBECONFIG", ""):
        return from_kubeconfig([Path(part) for part in named.split(os.pathsep) if part])
    if env.get("KUBERNETES_SERVICE_HOST") and (service_account / "token").exists():
        return _in_cluster(env, service_account)
    home = Path(env.get("HOME") or Path.home()) / ".kube" / "config"
    if home.exists():
        return from_kubeconfig([home])
    raise ConfigError(
        "no Kubernetes configuration was found: set KUBECONFIG, run in a pod with a service "
        f"account, or make {home}"
    )


def _in_cluster(env: Mapping[str, str], folder: Path) -> ClusterAccess:
    host, port = env["KUBERNETES_SERVICE_HOST"], env.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    namespace = folder / "namespace"
    return ClusterAccess(
        server=f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "",
        ssl_context=ssl.create_default_context(cafile=str(folder / "ca.crt")),
        token=FileToken(folder / "token"),
    )


def from_kubeconfig(paths: Iterable[Path], context: str = "") -> ClusterAccess:
    """Read one or several kubeconfig files; the first that names something wins.

    Raises:
        ConfigError: a file, or what its current context names, is missing or malformed.
    """
    paths = list(paths)
    documents = [(path, _read(path)) for path in paths if path.exists()]
    where = os.pathsep.join(map(str, paths))
    if not documents:
        raise ConfigError(f"kubeconfig {where} does not exist")
    name = context or next(
        (doc["current-context"] for _, doc in documents if doc.get("current-context")), ""
    )
    chosen, _ = _entry(documents, "contexts", "context", name, where)
    cluster, cluster_file = _entry(
        documents, "clusters", "cluster", chosen.get("cluster", ""), where
    )
    user: dict[str, Any] = {}
    user_file = cluster_file
    if chosen.get("user"):
        user, user_file = _entry(documents, "users", "user", chosen["user"], where)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server:
        raise ConfigError(f"kubeconfig {where}: cluster {chosen.get('cluster')!r} has no server")
    return ClusterAccess(
        server=server,
        namespace=chosen.get("namespace", ""),
        ssl_context=_tls(cluster, cluster_file, user, user_file) if _is_tls(server) else None,
        token=_token(user, user_file),
        username=user.get("username", ""),
        password=user.get("password", ""),
        proxy=cluster.get("proxy-url", ""),
        server_name=cluster.get("tls-server-name", ""),
    )


def _is_tls(server: str) -> bool:
    return server.startswith("https://")


def _read(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"kubeconfig {path} is not a mapping")
    return document


def _entry(
    documents: list[tuple[Path, dict[str, Any]]], section: str, key: str, name: str, where: str
) -> tuple[dict[str, Any], Path]:
    for path, document in documents:
        for entry in document.get(section) or []:
            if entry.get("name") == name and isinstance(entry.get(key), dict):
                return entry[key], path
    raise ConfigError(f"kubeconfig {where}: {key} {name!r} is not in {section}")


def _bytes(entry: Mapping[str, Any], name: str, origin: Path) -> bytes:
    """The content of ``name``: inline (``<name>-data``) or from a file beside ``origin``."""
    try:
        if inline := entry.get(f"{name}-data"):
            return base64.b64decode(inline)
        if path := entry.get(name):
            return (origin.parent / str(path)).read_bytes()
    except (OSError, binascii.Error) as error:
        raise ConfigError(f"kubeconfig {origin}: {name} cannot be read: {error}") from error
    return b""


def _tls(
    cluster: Mapping[str, Any], cluster_file: Path, user: Mapping[str, Any], user_file: Path
) -> ssl.SSLContext:
    authority = _bytes(cluster, "certificate-authority", cluster_file)
    context = ssl.create_default_context(cadata=authority.decode() or None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = _bytes(user, "client-certificate", user_file)
    key = _bytes(user, "client-key", user_file)
    if certificate and key:
        _load_pair(context, certificate, key, user_file)
    return context


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes, origin: Path) -> None:
    """Hand a key pair to OpenSSL, which takes it from a file only: private, removed at once."""
    with tempfile.NamedTemporaryFile(mode="wb", prefix="kube-client-") as pair:
        pair.write(certificate + b"\n" + key)
        pair.flush()
        try:
            context.load_cert_chain(pair.name)
        except ssl.SSLError as error:
            raise ConfigError(f"kubeconfig {origin}: unusable client certificate") from error


def _token(user: Mapping[str, Any], origin: Path) -> TokenSource | None:
    if path := user.get("tokenFile"):
        return FileToken(origin.parent / path)
    if token := user.get("token"):
        return StaticToken(token)
    if command := user.get("exec"):
        return ExecToken.from_kubeconfig(command, origin.parent)
    return None
