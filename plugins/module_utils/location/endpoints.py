# SPDX-License-Identifier: Apache-2.0
"""Endpoints of object stores, and which of them are one server.

The grammar of an endpoint, at most 1024 characters, in the notation of RFC 5234::

    endpoint = [ scheme "://" ] host [ ":" port ] [ path ]
    scheme   = "http" / "https"            ; in any case; https where there is none, as in MatrixOne
    host     = name / ipv4 / "[" ipv6 "]"  ; an IPv6 address without a zone
    name     = label *( "." label ) [ "." ]        ; at most 253 characters
    label    = 1*63( ALPHA / DIGIT / "-" / "_" )   ; "-" neither first nor last
    ipv4     = four decimal numbers; no name ends with a label that is a number
    port     = 1*5DIGIT                    ; 1 to 65535
    path     = "/" / 1*( "/" segment ) [ "/" ]
    segment  = 1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "%" )   ; neither "." nor ".."

A user, a password, a query and a fragment are refused: none of the clients sends them.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Final, Union

from .errors import InvalidLocation

DEFAULT_CLUSTER_DOMAIN: Final = "cluster.local"
_PORTS: Final = {"http": 80, "https": 443}
_LONGEST: Final = 1024
_LONGEST_NAME: Final = 253
_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?"
    r"(?P<host>\[[^\[\]]*\]|[^\[\]/?#@:]*)"
    r"(?::(?P<port>[^/]*))?"
    r"(?P<path>/.*)?"
)
_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A last label that makes resolvers take a name for an address."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._~%-]+")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_AWS: Final = (".amazonaws.com", ".amazonaws.com.cn")
_LOCAL: Final = "localhost"

_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


@dataclass(frozen=True, slots=True)
class Scope:
    """From where a host name is looked up.

    Attributes:
        namespace: of the Pods; empty where that is not known.
        cluster_domain: DNS domain of the Kubernetes cluster; empty for the usual one.
    """

    namespace: str = ""
    cluster_domain: str = ""


NO_SCOPE: Final = Scope()


@dataclass(frozen=True, slots=True)
class Server:
    """What tells an object store from others, under whichever of its names it was given.

    Attributes:
        host: lower case; a Service as ``<name>.<namespace>``; an address in its shortest form.
        port: where it listens.
        path: below which it answers; empty or with a slash at its beginning.
    """

    host: str
    port: int
    path: str = ""

    @property
    def store(self) -> Server:
        """What names of buckets are unique in: all of AWS, whatever the region, or the server."""
        suffix = _aws_suffix(self.host)
        return Server(f"s3{suffix}", _PORTS["https"]) if suffix else self


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint in its normal form.

    Attributes:
        scheme: ``http`` or ``https``.
        host: a name in lower case without a dot at its end, or an address without brackets.
        port: where the server listens.
        path: without a slash at its end; empty, or with one at its beginning.
    """

    scheme: str
    host: str
    port: int
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Endpoint:
        """Read an endpoint.

        Raises:
            InvalidLocation: it does not follow the grammar.
        """
        if mistake := _mistake(text):
            raise InvalidLocation(mistake)
        parts = _PARTS.fullmatch(text)
        if parts is None or ("://" in text and not parts["scheme"]):
            raise InvalidLocation(
                f"{text!r} must be <host>, <host>:<port>, or a URL with http:// or https://; an "
                "IPv6 address is in brackets, as http://[fd00::1]:9000"
            )
        scheme = (parts["scheme"] or "https").lower()
        if scheme not in _PORTS:
            raise InvalidLocation(
                f"{text!r} must begin with http:// or https://, not {scheme}://; the bucket goes "
                "into path"
            )
        host = _host(parts["host"], text)
        port = _PORTS[scheme] if parts["port"] is None else _port(parts["port"], text)
        return cls(scheme, host, port, _path(parts["path"] or "", text))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}"

    def seen_from_elsewhere(self, scope: Scope) -> Endpoint:
        """Return the endpoint as Pods of any namespace can use it."""
        is_short = "." not in self.host and _address(self.host) is None
        return replace(self, host=_canonical_name(self.host, scope)) if is_short else self

    def server(self, scope: Scope = NO_SCOPE) -> Server:
        """Return the server.

        A name of one label is a Service in the namespace of the Pods. ``<name>.<namespace>``,
        with ``.svc`` and with ``.svc.<cluster domain>`` are one Service. What DNS and the network
        make the same besides is not known here: aliases, addresses of load balancers, several
        ports.
        """
        return Server(_canonical_name(self.host, scope), self.port, self.path)


def _canonical_name(host: str, scope: Scope) -> str:
    address = _address(host)
    if address is not None:
        return str(address)
    if "." not in host:
        is_service = scope.namespace and host != _LOCAL
        return f"{host}.{scope.namespace}" if is_service else host
    for domain in (scope.cluster_domain, DEFAULT_CLUSTER_DOMAIN):
        suffix = f".svc.{domain.strip('.').lower()}"
        service = host.removesuffix(suffix)
        if service != host and "." in service:
            return service
    without = host.removesuffix(".svc")
    return without if "." in without else host


def _aws_suffix(host: str) -> str:
    """Return the domain of AWS if a host is its S3 there; empty for any other, as one in EC2."""
    for suffix in _AWS:
        labels = host.removesuffix(suffix).split(".")
        if host.endswith(suffix) and labels[-1] != "elb" and "compute" not in labels[-1]:
            is_s3 = any(label == "s3" or label.startswith("s3-") for label in labels)
            return suffix if is_s3 else ""
    return ""


def _host(host: str, text: str) -> str:
    if host.startswith("["):
        return str(_ipv6(host[1:-1], text))
    name = host.lower().removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(_ipv4(name, text))
    is_name = host.isascii() and len(name) <= _LONGEST_NAME and all(map(_LABEL.fullmatch, labels))
    if not is_name:
        raise InvalidLocation(
            f"{text!r} has no host: it must be like http://minio.storage:9000, with a DNS name or "
            "an IP address"
        )
    return name


def _ipv4(host: str, text: str) -> ipaddress.IPv4Address:
    try:
        return ipaddress.IPv4Address(host)
    except ValueError:
        raise InvalidLocation(f"{text!r}: {host} is no IPv4 address") from None


def _ipv6(host: str, text: str) -> _Address:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        raise InvalidLocation(f"{text!r}: {host} is no IPv6 address") from None
    if address.scope_id is not None:
        raise InvalidLocation(f"{text!r}: an IPv6 address must not have a zone, as %{host}")
    return address


def _address(host: str) -> _Address | None:
    """Return a host's address, that of IPv4 where one of IPv6 stands for it; None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _port(port: str, text: str) -> int:
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        if text.count(":") > 2 and "[" not in text:
            raise InvalidLocation(f"{text!r}: an IPv6 address must be in brackets, as [fd00::1]")
        raise InvalidLocation(f"{text!r}: the port must be a number from 1 to 65535, not {port!r}")
    return int(port)


def _path(path: str, text: str) -> str:
    segments = path.removeprefix("/").removesuffix("/").split("/") if path else []
    if path in ("", "/"):
        return ""
    for segment in segments:
        if segment in (".", "..") or not _SEGMENT.fullmatch(segment):
            raise InvalidLocation(
                f"{text!r}: the path of an endpoint must not have empty parts, '.', '..' or "
                "odd characters; bucket and prefix go into path"
            )
    return "/" + "/".join(segments)


def _mistake(text: str) -> str:
    """Say what is wrong with a text as a whole; empty if nothing is.

    A text that may contain a password or a signature is not repeated.
    """
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if "@" in text:
        return "must not have a user or a password; they go into the Secret that secretRef names"
    if "?" in text or "#" in text:
        return "must not have a query or a fragment"
    if any(letter.isspace() for letter in text):
        return f"{text!r} must not have blanks; write {''.join(text.split())!r}"
    return ""
