# SPDX-License-Identifier: Apache-2.0
"""Overlays that ask for rights of their Pods, as a table."""

from typing import Any

Json = dict[str, Any]

RESTRICTED, BASELINE = "restricted", "baseline"
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
PROBE = {"httpGet": {"host": "169.254.169.254", "port": 80}}


def _main(**fields: Any) -> Json:
    return {"mainContainerSecurityContext": {**SAFE, **fields}}


def _pod(**fields: Any) -> Json:
    return {"securityContext": {**POD, **fields}}


def _side(field: str = "sidecarContainers", **fields: Any) -> Json:
    return {field: [{"name": "side", "image": "busybox:1", "securityContext": SAFE, **fields}]}


def _capabilities(*added: str) -> Json:
    return {"capabilities": {"drop": ["ALL"], "add": list(added)}}


#: overlay, the lowest level that forbids it, the field that is named
FORBIDDEN: list[tuple[Json, str, str]] = [
    ({"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}, BASELINE, "volumes[0].hostPath"),
    (
        {"volumes": [{"name": "v", "nfs": {"server": "nfs", "path": "/"}}]},
        RESTRICTED,
        "volumes[0].nfs",
    ),
    ({"hostNetwork": True}, BASELINE, "hostNetwork"),
    ({"hostPID": True}, BASELINE, "hostPID"),
    ({"hostIPC": True}, BASELINE, "hostIPC"),
    (
        _main(privileged=True, allowPrivilegeEscalation=True),
        BASELINE,
        "mainContainerSecurityContext.privileged",
    ),
    (
        _main(**_capabilities("SYS_ADMIN")),
        BASELINE,
        "mainContainerSecurityContext.capabilities.add",
    ),
    (
        _main(**_capabilities("SETUID")),
        RESTRICTED,
        "mainContainerSecurityContext.capabilities.add",
    ),
    (_main(capabilities={}), RESTRICTED, "mainContainerSecurityContext.capabilities.drop"),
    (
        _main(allowPrivilegeEscalation=True),
        RESTRICTED,
        "mainContainerSecurityContext.allowPrivilegeEscalation",
    ),
    (_main(runAsUser=0), RESTRICTED, "mainContainerSecurityContext.runAsUser"),
    (_main(runAsNonRoot=False), RESTRICTED, "mainContainerSecurityContext.runAsNonRoot"),
    (_main(procMount="Unmasked"), BASELINE, "mainContainerSecurityContext.procMount"),
    (
        _main(seccompProfile={"type": "Unconfined"}),
        BASELINE,
        "mainContainerSecurityContext.seccompProfile.type",
    ),
    (
        _main(seLinuxOptions={"type": "spc_t"}),
        BASELINE,
        "mainContainerSecurityContext.seLinuxOptions.type",
    ),
    (
        _main(seLinuxOptions={"user": "system_u"}),
        BASELINE,
        "mainContainerSecurityContext.seLinuxOptions.user",
    ),
    (
        _main(windowsOptions={"hostProcess": True}),
        BASELINE,
        "mainContainerSecurityContext.windowsOptions.hostProcess",
    ),
    (_pod(runAsUser=0), RESTRICTED, "securityContext.runAsUser"),
    (_pod(runAsNonRoot=False), RESTRICTED, "securityContext.runAsNonRoot"),
    (_pod(seccompProfile={"type": "Unconfined"}), BASELINE, "securityContext.seccompProfile.type"),
    (_pod(seccompProfile=None), RESTRICTED, "securityContext.seccompProfile.type"),
    (
        _pod(sysctls=[{"name": "kernel.msgmax", "value": "1"}]),
        BASELINE,
        "securityContext.sysctls[0].name",
    ),
    (_side(securityContext={**SAFE, "privileged": True, "allowPrivilegeEscalation": True}),
     BASELINE, "sidecarContainers[0].securityContext.privileged"),
    (
        _side("initContainers", securityContext={**SAFE, "runAsUser": 0}),
        RESTRICTED,
        "initContainers[0].securityContext.runAsUser",
    ),
    (
        _side(securityContext={"capabilities": {"drop": ["ALL"]}}),
        RESTRICTED,
        "sidecarContainers[0].securityContext.allowPrivilegeEscalation",
    ),
    (
        _side(ports=[{"containerPort": 80, "hostPort": 80}]),
        BASELINE,
        "sidecarContainers[0].ports[0].hostPort",
    ),
    (
        {"podAnnotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
        BASELINE,
        "podAnnotations.container.apparmor.security.beta.kubernetes.io/main",
    ),
]  # fmt: skip

#: overlays that the host's name in a probe makes a way into other networks (since Kubernetes 1.34)
FORBIDDEN_HOSTS: list[tuple[Json, str, str]] = [
    ({"livenessProbe": PROBE}, BASELINE, "livenessProbe.httpGet.host"),
    (
        {"lifecycle": {"postStart": {"tcpSocket": {"host": "db", "port": 1}}}},
        BASELINE,
        "lifecycle.postStart.tcpSocket.host",
    ),
    (_side(readinessProbe=PROBE), BASELINE, "sidecarContainers[0].readinessProbe.httpGet.host"),
]

#: those of FORBIDDEN whose field no overlay passes on to its Pods
UNREACHED = frozenset({"hostNetwork", "hostPID", "hostIPC"})

#: those of FORBIDDEN that no Pod on a Linux node can have, at any level
IMPOSSIBLE = frozenset(
    {
        "mainContainerSecurityContext.procMount",
        "mainContainerSecurityContext.windowsOptions.hostProcess",
    }
)

#: those of FORBIDDEN whose Pods only a level keeps out
POSSIBLE = [case for case in FORBIDDEN if case[2] not in UNREACHED | IMPOSSIBLE]

#: overlays that every level permits
PERMITTED: list[Json] = [
    {},
    _main(),
    _main(runAsUser=2000, seccompProfile={"type": "Localhost", "localhostProfile": "a.json"}),
    _main(**_capabilities("NET_BIND_SERVICE")),
    _pod(fsGroup=0, runAsUser=3000, sysctls=[{"name": "net.ipv4.tcp_syncookies", "value": "1"}]),
    _side(ports=[{"containerPort": 80}], livenessProbe={"httpGet": {"port": 80}}),
    _side("initContainers"),
    {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}]},
    {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
    {"podAnnotations": {"container.apparmor.security.beta.kubernetes.io/main": "runtime/default"}},
]
