# SPDX-License-Identifier: Apache-2.0
"""Find the API server and the credentials, with the options and variables of kubernetes.core.

The ``kubernetes`` package reads kubeconfigs (exec plugins, tokens that renew themselves,
in-cluster accounts) and makes the connection pool; none of its models are used.
"""

from __future__ import annotations

import os
import secrets
import shutil
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .errors import BadConnection, MissingLibrary
from .loopback import connections_to, loopback

try:
    import urllib3
    from kubernetes.client import ApiClient, Configuration
    from kubernetes.config import (
        ConfigException,
        kube_config,
        load_incluster_config,
        load_kube_config,
        load_kube_config_from_dict,
    )

    HAS_KUBERNETES = True
except ImportError:
    HAS_KUBERNETES = False

OPTIONS: Mapping[str, dict[str, Any]] = {
    "kubeconfig": {"type": "raw", "no_log": True},
    "context": {"type": "str"},
    "host": {"type": "str"},
    "api_key": {"type": "str", "no_log": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
    "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
    "client_cert": {"type": "path", "aliases": ["cert_file"]},
    "client_key": {"type": "path", "aliases": ["key_file"]},
    "proxy": {"type": "str"},
    "no_proxy": {"type": "str"},
    "proxy_headers": {
        "type": "dict",
        "options": {
            "proxy_basic_auth": {"type": "str", "no_log": True},
            "basic_auth": {"type": "str", "no_log": True},
            "user_agent": {"type": "str"},
        },
    },
    "persist_config": {"type": "bool"},
    "impersonate_user": {"type": "str"},
    "impersonate_groups": {"type": "list", "elements": "str"},
}
"""The connection options as an Ansible argument spec: names, types and aliases as users of
kubernetes.core know them."""

_FALSE = frozenset({"0", "false", "no"})
_ATTRIBUTES = {
    "host": "host",
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
    "proxy": "proxy",
    "no_proxy": "no_proxy",
}


def resolve_options(arguments: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    """Complete the options of a task by ``K8S_AUTH_*`` variables.

    Args:
        arguments: options of the task; None counts as not given.
        environment: variables, the task's own ``environment:`` included.

    Returns:
        The options that are set, plus ``kubeconfig`` from ``KUBECONFIG`` as ``default_config``.
    """
    options: dict[str, Any] = {}
    for name, spec in OPTIONS.items():
        value = arguments.get(name)
        if value is None and name == "proxy_headers":
            value = _proxy_headers(environment)
        elif value is None:
            value = _from_environment(name, spec, environment)
        if value is not None:
            options[name] = value
    if environment.get("KUBECONFIG"):
        options["default_config"] = environment["KUBECONFIG"]
    return options


def _from_environment(name: str, spec: Mapping[str, Any], environment: Mapping[str, str]) -> Any:
    for candidate in (name, *spec.get("aliases", ())):
        text = environment.get(f"K8S_AUTH_{candidate.upper()}")
        if text:
            break
    else:
        return None
    if spec["type"] == "bool":
        return text.lower() not in _FALSE
    if spec["type"] == "list":
        return [part for part in text.split(",") if part]
    return text


def _proxy_headers(environment: Mapping[str, str]) -> dict[str, str] | None:
    names = OPTIONS["proxy_headers"]["options"]
    found = {name: environment.get(f"K8S_AUTH_PROXY_HEADERS_{name.upper()}") for name in names}
    return {name: value for name, value in found.items() if value} or None


def connect(options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the client configuration that the options describe, and a connection pool for it.

    For a run of an operator both are our own, which do the same in less time.

    Raises:
        MissingLibrary: the ``kubernetes`` package is not installed.
        BadConnection: a kubeconfig cannot be read, its certificates cannot be used, or nothing
            says where the API server is.
    """
    run = loopback(options) if HAS_KUBERNETES else None
    if run is not None:
        return run, connections_to(run)
    with _certificate_files() as folder:
        configuration = load_configuration(options, folder)
        try:
            return configuration, _open_pool(configuration)
        except (OSError, ValueError) as error:
            raise BadConnection(f"{_source(options)}: unusable certificate: {error}") from error


@contextmanager
def _certificate_files() -> Iterator[str]:
    """Name a folder for the certificates and keys that a kubeconfig holds itself.

    The ``kubernetes`` package writes them to files and removes these when the process ends in
    order, which the processes that Ansible executes tasks in don't. It makes the folder when it
    has something to write, which the kubeconfig of an operator's run doesn't give it.
    """
    folder = os.path.join(tempfile.gettempdir(), f"matrixone-{secrets.token_hex(16)}")  # noqa: PTH118
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        remembered = vars(kube_config).get("_temp_files", {}) if HAS_KUBERNETES else {}
        for content in [key for key, path in remembered.items() if path.startswith(folder)]:
            del remembered[content]


def load_configuration(options: Mapping[str, Any], folder: str | None = None) -> Any:
    """Load the client configuration that the options describe.

    Credentials in the options win; then a kubeconfig or context that was named; then the account
    of the Pod this runs in; then ``KUBECONFIG`` or the user's own kubeconfig.

    Args:
        options: as ``resolve_options`` returns them.
        folder: where certificates that a kubeconfig holds itself are written to.

    Raises:
        MissingLibrary: the ``kubernetes`` package is not installed.
        BadConnection: a kubeconfig cannot be read, or nothing says where the API server is.
    """
    if not HAS_KUBERNETES:
        raise MissingLibrary(
            "the Python package 'kubernetes' is needed on the Ansible controller: "
            "pip install kubernetes"
        )
    configuration = Configuration()
    if not _complete(options):
        try:
            _load(configuration, options, folder)
        except (ConfigException, OSError, ValueError, TypeError) as error:
            raise BadConnection(f"{_source(options)}: {error}") from error
    for name, attribute in _ATTRIBUTES.items():
        if name in options:
            setattr(configuration, attribute, options[name])
    configuration.host = str(configuration.host).rstrip("/")
    if "proxy_headers" in options:
        configuration.proxy_headers = urllib3.util.make_headers(**options["proxy_headers"])
    return configuration


def _complete(options: Mapping[str, Any]) -> bool:
    pairs = (("api_key",), ("username", "password"), ("client_cert", "client_key"))
    return bool(options.get("host")) and any(all(map(options.get, pair)) for pair in pairs)


def _source(options: Mapping[str, Any]) -> str:
    named = options.get("kubeconfig") or options.get("default_config")
    return f"kubeconfig {named}" if isinstance(named, str) else "kubeconfig"


def _load(configuration: Any, options: Mapping[str, Any], folder: str | None) -> None:
    """Fill the configuration from a kubeconfig or the account of this Pod."""
    kubeconfig = options.get("kubeconfig")
    how = {
        "context": options.get("context"),
        "persist_config": bool(options.get("persist_config")),
        "client_configuration": configuration,
        "temp_file_path": folder,
    }
    if isinstance(kubeconfig, Mapping):
        load_kube_config_from_dict(config_dict=dict(kubeconfig), **how)
        return
    if not kubeconfig and not options.get("context"):
        try:
            load_incluster_config(client_configuration=configuration)
        except ConfigException:
            pass
        else:
            return
    # The package reads KUBECONFIG once, when it is imported; a warm process needs today's value.
    named = kubeconfig or options.get("default_config")
    load_kube_config(config_file=os.path.expanduser(named) if named else None, **how)  # noqa: PTH111


def request_headers(configuration: Any, options: Mapping[str, Any]) -> Any:
    """Return the headers that authenticate a request; tokens that expire are renewed here."""
    headers = urllib3.HTTPHeaderDict()
    for setting in configuration.auth_settings().values():
        if setting["in"] == "header" and setting["value"]:
            headers[setting["key"]] = setting["value"]
    if options.get("api_key"):
        headers["authorization"] = f"Bearer {options['api_key']}"
    elif options.get("username") and options.get("password"):
        pair = f"{options['username']}:{options['password']}"
        headers.extend(urllib3.util.make_headers(basic_auth=pair))
    if options.get("impersonate_user"):
        headers["Impersonate-User"] = options["impersonate_user"]
    for group in options.get("impersonate_groups") or ():
        headers.add("Impersonate-Group", group)
    return headers


def _open_pool(configuration: Any) -> Any:
    """Make the connection pool: TLS, client certificates and HTTP proxies as configured."""
    if not configuration.verify_ssl:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    pool = ApiClient(configuration).rest_client.pool_manager
    if configuration.host.startswith("https:"):
        settings = pool.connection_pool_kw
        settings["ssl_context"] = _tls(configuration)
        for name in ("ca_certs", "ca_cert_data", "cert_file", "key_file"):
            settings.pop(name, None)
    return pool


def _tls(configuration: Any) -> ssl.SSLContext:
    """Make the TLS context now: urllib3 would read the files again at each new connection."""
    required = ssl.CERT_REQUIRED if configuration.verify_ssl else ssl.CERT_NONE
    context: ssl.SSLContext = urllib3.util.create_urllib3_context(cert_reqs=required)
    authority = getattr(configuration, "ca_cert_data", None)
    if configuration.ssl_ca_cert or authority:
        context.load_verify_locations(configuration.ssl_ca_cert, None, authority)
    elif configuration.verify_ssl:
        context.load_default_certs()
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context
