# SPDX-License-Identifier: Apache-2.0
"""What a resource may ask for in its Pods: the levels of Kubernetes' Pod Security Standards.

Whoever may create a resource has the operator create Pods, so the operator holds these Pods to a
level by itself, whatever labels their namespace has. The rules are those of
https://kubernetes.io/docs/concepts/security/pod-security-standards/ (v1.34); in one place they are
stricter: what a level requires of a Pod, its own security context must say, not only those of all
its containers.

Shapes are checked elsewhere. What has another type than a Pod's field has cannot become one, so it
is passed over here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

from ..api.fields import as_table
from .shapes import FORBIDDEN, Mistake

VARIABLE: Final = "MATRIXONE_POD_SECURITY"
"""The environment variable that names the level."""


class Level(IntEnum):
    """A level of the Pod Security Standards; a higher one forbids more."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2


def level_of(environment: Mapping[str, str]) -> Level:
    """Return the level that Pods must meet; restricted unless the environment says otherwise.

    Raises:
        ValueError: The variable names no level.
    """
    word = environment.get(VARIABLE, "").strip() or Level.RESTRICTED.name.lower()
    levels = {level.name.lower(): level for level in reversed(Level)}
    if word not in levels:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(levels)}, not {word!r}")
    return levels[word]


Json = Mapping[str, Any]
_Found = Iterator[tuple[str, str, Any]]
"""Path, what is required, and what is there."""

_HOST_FLAGS: Final = ("hostNetwork", "hostPID", "hostIPC")
_VOLUMES: Final = frozenset(
    {
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
        *("persistentVolumeClaim", "projected", "secret"),
    }
)
_CAPABILITIES: Final[Mapping[Level, frozenset[str]]] = {
    Level.RESTRICTED: frozenset({"NET_BIND_SERVICE"}),
    Level.BASELINE: frozenset(
        {
            *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
            *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
        }
    ),
}
_SYSCTLS: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    }
)
_SELINUX_TYPES: Final = frozenset(
    {"container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
)
_SAFE_PROFILES: Final = ("RuntimeDefault", "Localhost")
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_HANDLERS: Final = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def pod_mistakes(path: str, template: Json, level: Level) -> Iterator[Mistake]:
    """Yield what in a Pod template is beyond a level.

    Args:
        path: of the template.
        template: its metadata and spec.
        level: that it must meet.
    """
    pod, here = as_table(template.get("spec")), f"{path}.spec"
    annotations = as_table(as_table(template.get("metadata")).get("annotations"))
    found = itertools.chain(
        _host(here, pod),
        _volumes(f"{here}.volumes", pod.get("volumes"), level),
        _annotations(f"{path}.metadata.annotations", annotations),
        _pod_context(f"{here}.securityContext", as_table(pod.get("securityContext")), level),
        *(
            _containers(f"{here}.{field}", pod.get(field), level)
            for field in ("initContainers", "containers", "ephemeralContainers")
        ),
    )
    yield from _mistakes(found, level)


def asked_mistakes(path: str, spec: Json, level: Level) -> Iterator[Mistake]:
    """Yield what in a set's spec leads to Pods beyond a level.

    Args:
        path: of the spec, e.g. ``spec`` or ``spec.tn``.
        spec: as the API server stores it.
        level: that the Pods must meet.
    """
    sidecar = as_table(spec.get("pythonUdfSidecar"))
    found = itertools.chain(
        _overlay(f"{path}.overlay", as_table(spec.get("overlay")), level),
        _main(f"{path}.pythonUdfSidecar.overlay", as_table(sidecar.get("overlay")), level),
        _storage(f"{path}.sharedStorage", spec.get("sharedStorage"), level),
    )
    yield from _mistakes(found, level)


def _storage(path: str, shared: Any, level: Level) -> _Found:
    """Yield path, requirement and value of what a shared storage mounts beyond a level."""
    volume = as_table(as_table(as_table(shared).get("fileSystem")).get("volume"))
    yield from _volume(f"{path}.fileSystem.volume", volume, level)


def _mistakes(found: _Found, level: Level) -> Iterator[Mistake]:
    if level is Level.PRIVILEGED:
        return
    for place, required, value in found:
        text = f"{required}: Pods must meet the level {level.name.lower()} ({VARIABLE})"
        yield Mistake(place, text, FORBIDDEN, value)


def _overlay(path: str, overlay: Json, level: Level) -> _Found:
    yield from _host(path, overlay)
    yield from _volumes(f"{path}.volumes", overlay.get("volumes"), level)
    yield from _annotations(f"{path}.podAnnotations", as_table(overlay.get("podAnnotations")))
    if "securityContext" in overlay:
        context = as_table(overlay["securityContext"])
        yield from _pod_context(f"{path}.securityContext", context, level)
    yield from _main(path, overlay, level)
    for field in ("initContainers", "sidecarContainers"):
        yield from _containers(f"{path}.{field}", overlay.get(field), level)


def _main(path: str, overlay: Json, level: Level) -> _Found:
    """Check what an overlay replaces in a container of the operator."""
    yield from _handlers(path, overlay)
    if "mainContainerSecurityContext" in overlay:
        context = as_table(overlay["mainContainerSecurityContext"])
        yield from _container_context(f"{path}.mainContainerSecurityContext", context, level)


def _host(path: str, pod: Json) -> _Found:
    for flag in _HOST_FLAGS:
        if pod.get(flag):
            yield f"{path}.{flag}", "must not be true", pod[flag]


def _volumes(path: str, volumes: Any, level: Level) -> _Found:
    for place, volume in _elements(path, volumes):
        yield from _volume(place, volume, level)


def _volume(path: str, volume: Json, level: Level) -> _Found:
    for source, value in volume.items():
        if source == "name" or value is None:
            continue
        if source == "hostPath" or (level is Level.RESTRICTED and source not in _VOLUMES):
            yield f"{path}.{source}", "must not be set; use a PersistentVolumeClaim", value


def _annotations(path: str, annotations: Json) -> _Found:
    for key, value in annotations.items():
        is_safe = value == "runtime/default" or str(value).startswith("localhost/")
        if key.startswith(_APPARMOR) and not is_safe:
            yield f"{path}.{key}", "must be runtime/default or localhost/<profile>", value


def _containers(path: str, containers: Any, level: Level) -> _Found:
    for place, container in _elements(path, containers):
        context = as_table(container.get("securityContext"))
        yield from _container_context(f"{place}.securityContext", context, level)
        yield from _handlers(place, container)
        for port, found in _elements(f"{place}.ports", container.get("ports")):
            if found.get("hostPort"):
                yield f"{port}.hostPort", "must not be set", found["hostPort"]


def _handlers(path: str, container: Json) -> _Found:
    """Check that no probe and no hook makes the kubelet ask another host."""
    for way in _HANDLERS:
        handler = container
        for name in way:
            handler = as_table(handler.get(name))
        for action in ("httpGet", "tcpSocket"):
            host = as_table(handler.get(action)).get("host")
            if host:
                yield f"{path}.{'.'.join(way)}.{action}.host", "must not be set", host


def _pod_context(path: str, context: Json, level: Level) -> _Found:
    yield from _identity(path, context)
    for place, sysctl in _elements(f"{path}.sysctls", context.get("sysctls")):
        if str(sysctl.get("name")) not in _SYSCTLS:
            yield f"{place}.name", "must be a safe sysctl", sysctl.get("name")
    if level is not Level.RESTRICTED:
        return
    if context.get("runAsNonRoot") is not True:
        yield f"{path}.runAsNonRoot", "must be true", context.get("runAsNonRoot")
    profile = as_table(context.get("seccompProfile")).get("type")
    if profile not in (*_SAFE_PROFILES, "Unconfined"):
        yield f"{path}.seccompProfile.type", f"must be {' or '.join(_SAFE_PROFILES)}", profile
    yield from _user(path, context)


def _container_context(path: str, context: Json, level: Level) -> _Found:
    yield from _identity(path, context)
    if context.get("privileged"):
        yield f"{path}.privileged", "must not be true", context["privileged"]
    if context.get("procMount") not in (None, "", "Default"):
        yield f"{path}.procMount", "must be Default", context["procMount"]
    capabilities = as_table(context.get("capabilities"))
    allowed = _CAPABILITIES.get(level, frozenset())
    if beyond := [one for one in _list(capabilities.get("add")) if str(one) not in allowed]:
        required = f"must only have {', '.join(sorted(allowed))}"
        yield f"{path}.capabilities.add", required, beyond
    if level is not Level.RESTRICTED:
        return
    if context.get("allowPrivilegeEscalation") is not False:
        value = context.get("allowPrivilegeEscalation")
        yield f"{path}.allowPrivilegeEscalation", "must be false", value
    if "ALL" not in _list(capabilities.get("drop")):
        yield f"{path}.capabilities.drop", "must have ALL", capabilities.get("drop")
    if context.get("runAsNonRoot") is False:
        yield f"{path}.runAsNonRoot", "must not be false", False
    yield from _user(path, context)


def _user(path: str, context: Json) -> _Found:
    if context.get("runAsUser") == 0:
        yield f"{path}.runAsUser", "must not be 0", 0


def _identity(path: str, context: Json) -> _Found:
    """Check what security contexts of Pods and of containers have in common."""
    for field in ("seccompProfile", "appArmorProfile"):
        if as_table(context.get(field)).get("type") == "Unconfined":
            yield f"{path}.{field}.type", "must not be Unconfined", "Unconfined"
    if as_table(context.get("windowsOptions")).get("hostProcess"):
        yield f"{path}.windowsOptions.hostProcess", "must not be true", True
    labels = as_table(context.get("seLinuxOptions"))
    kind = labels.get("type")
    if kind and str(kind) not in _SELINUX_TYPES:
        yield f"{path}.seLinuxOptions.type", f"must be {', '.join(sorted(_SELINUX_TYPES))}", kind
    for name in ("user", "role"):
        if labels.get(name):
            yield f"{path}.seLinuxOptions.{name}", "must not be set", labels[name]


def _elements(path: str, values: Any) -> Iterator[tuple[str, Json]]:
    for index, value in enumerate(_list(values)):
        yield f"{path}[{index}]", as_table(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
