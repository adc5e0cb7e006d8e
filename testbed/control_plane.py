# SPDX-License-Identifier: Apache-2.0
"""etcd, API server, controller manager and scheduler of one test bed."""

import json
from collections.abc import Mapping
from pathlib import Path

import yaml

from testbed.api import ApiClient, ApiError
from testbed.certificates import Authority
from testbed.places import Places
from testbed.ports import is_free
from testbed.processes import Launcher, find
from testbed.state import State
from testbed.waiting import wait_until

PORTS = ("etcd", "etcd-peer", "apiserver")
_READY_SECONDS = 60.0
_PORT_SECONDS = 5.0
_AUDIT_MEGABYTES = 4096
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


def service_range(state: State) -> str:
    """Return the address range of Services."""
    return f"10.{state.subnet}.240.0/20"


def _options(values: Mapping[str, str | Path | int]) -> list[str]:
    return [f"--{name}={value}" for name, value in values.items()]


def _require_free(state: State, launcher: Launcher, process: str, *purposes: str) -> None:
    """Refuse to start a server if another program has taken its port since it was chosen."""
    existing = find(launcher.places, process)
    if existing and existing.alive():
        return
    for purpose in purposes:
        _await_port(state, purpose)


def _await_port(state: State, purpose: str) -> None:
    port = state.ports[purpose]
    address = state.address if purpose == "apiserver" else "127.0.0.1"
    # A server that was killed just now counts as ended before the last of its threads, and with
    # it the port, has gone.
    wait_until(
        lambda: is_free(port, address),
        lambda: (
            f"port {port} is taken by another program (see `ss -ltnp`): "
            f"end it, or take test bed {state.name!r} down and up again"
        ),
        _PORT_SECONDS,
    )


def _start_etcd(state: State, launcher: Launcher) -> None:
    _require_free(state, launcher, "etcd", "etcd", "etcd-peer")
    client = f"http://127.0.0.1:{state.ports['etcd']}"
    peer = f"http://127.0.0.1:{state.ports['etcd-peer']}"
    options: dict[str, str | Path | int] = {
        "name": "testbed",
        "data-dir": launcher.places.etcd,
        "listen-client-urls": client,
        "advertise-client-urls": client,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"testbed={peer}",
        "log-level": "warn",
    }
    launcher.start("etcd", [state.binaries["etcd"], *_options(options), "--unsafe-no-fsync=true"])


def _audit_options(places: Places) -> dict[str, str | Path | int]:
    policy = places.root / "audit-policy.json"
    policy.write_text(json.dumps(_AUDIT_POLICY))
    # Readers know of one file: it is not rotated at the 100 MB that are the default.
    return {
        "audit-policy-file": policy,
        "audit-log-path": places.logs / "audit.log",
        "audit-log-maxsize": _AUDIT_MEGABYTES,
    }


def _serving_names(state: State) -> list[str]:
    services = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    addresses = {"127.0.0.1", state.address, f"10.{state.subnet}.240.1"}
    return ["localhost", *services, "kubernetes.default.svc.cluster.local", *sorted(addresses)]


_RARELY_COLLECTED = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
"""Less processor time for the memory of an API server, of which a short-lived one needs little."""


def _start_apiserver(state: State, launcher: Launcher, authority: Authority) -> None:
    _require_free(state, launcher, "kube-apiserver", "apiserver")
    certificate, key = authority.issue("apiserver", "kube-apiserver", "", _serving_names(state))
    kubelet_client = authority.issue("kubelet-client", "kube-apiserver", "system:masters")
    public, private = authority.key_pair("service-account")
    options: dict[str, str | Path | int] = {
        "etcd-servers": f"http://127.0.0.1:{state.ports['etcd']}",
        "bind-address": state.address,
        "secure-port": state.ports["apiserver"],
        "service-cluster-ip-range": service_range(state),
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "client-ca-file": authority.folder / "ca.crt",
        "tls-cert-file": certificate,
        "tls-private-key-file": key,
        "kubelet-certificate-authority": authority.folder / "ca.crt",
        "kubelet-client-certificate": kubelet_client[0],
        "kubelet-client-key": kubelet_client[1],
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": public,
        "service-account-signing-key-file": private,
        "profiling": "false",
    }
    if state.nodes == "fake":
        # A loopback address cannot be an endpoint, and no pod would use it.
        options["endpoint-reconciler-type"] = "none"
    else:
        options["advertise-address"] = state.address
    if state.audit:
        options |= _audit_options(launcher.places)
    binary = state.binaries["kube-apiserver"]
    launcher.start("kube-apiserver", [binary, *_options(options)], env=_RARELY_COLLECTED)


def _start_controllers(state: State, launcher: Launcher, authority: Authority) -> None:
    user = "system:kube-controller-manager"
    kubeconfig = authority.kubeconfig(authority.folder / "controllers.conf", state.server, user)
    options: dict[str, str | Path | int] = {
        "kubeconfig": kubeconfig,
        "leader-elect": "false",
        "secure-port": 0,
        "use-service-account-credentials": "true",
        "service-account-private-key-file": authority.folder / "service-account.key",
        "root-ca-file": authority.folder / "ca.crt",
        "cluster-signing-cert-file": authority.folder / "ca.crt",
        "cluster-signing-key-file": authority.folder / "ca.key",
        # The defaults are for large shared clusters; here they would only slow down bursts.
        "kube-api-qps": 1000,
        "kube-api-burst": 2000,
        "profiling": "false",
    }
    binary = state.binaries["kube-controller-manager"]
    launcher.start("kube-controller-manager", [binary, *_options(options)])


def _start_scheduler(state: State, launcher: Launcher, authority: Authority) -> None:
    kubeconfig = authority.kubeconfig(
        authority.folder / "scheduler.conf", state.server, "system:kube-scheduler"
    )
    configuration = authority.folder / "scheduler.yaml"
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
    }
    configuration.write_text(yaml.safe_dump(content))
    options: dict[str, str | Path | int] = {"config": configuration, "secure-port": 0}
    launcher.start("kube-scheduler", [state.binaries["kube-scheduler"], *_options(options)])


def _await_apiserver(launcher: Launcher, client: ApiClient) -> None:
    last = "no answer yet"

    def ready() -> bool:
        nonlocal last
        launcher.require_alive("etcd")
        launcher.require_alive("kube-apiserver")
        try:
            client.request("GET", "/readyz")
        except ApiError as error:
            last = str(error)
            return False
        return True

    wait_until(ready, lambda: f"the API server is not ready: {last}", _READY_SECONDS)


def start(state: State, launcher: Launcher) -> ApiClient:
    """Start the control plane, or what of it does not run, and wait until it answers.

    Returns:
        A client with the rights of a cluster administrator.

    Raises:
        StartError: a process has ended, or the API server is not ready within a minute.
    """
    authority = Authority.open(launcher.places.pki)
    _start_etcd(state, launcher)
    _start_apiserver(state, launcher, authority)
    authority.kubeconfig(launcher.places.kubeconfig, state.server, "admin", "system:masters")
    client = ApiClient(launcher.places.kubeconfig)
    _await_apiserver(launcher, client)
    _start_controllers(state, launcher, authority)
    _start_scheduler(state, launcher, authority)
    return client
