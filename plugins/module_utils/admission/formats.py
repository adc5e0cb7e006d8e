# SPDX-License-Identifier: Apache-2.0
"""Formats of texts in Pods, as Kubernetes defines them; each is None or says what is required."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final, Optional

from ..api import quantities as quantity
from ..api.errors import QuantityError

Format = Callable[[str], Optional[str]]
"""What is required instead of a text, or None when the text is right."""

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORT_NAME: Final = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_ENV_NAME: Final = re.compile(r"[ -<>-~]+")


def _of(pattern: re.Pattern[str], longest: int, required: str) -> Format:
    def check(text: str) -> str | None:
        return None if len(text) <= longest and pattern.fullmatch(text) else required

    return check


DNS_LABEL: Final = _of(
    _LABEL, 63, "must be a DNS label: at most 63 lower-case letters, digits and '-'"
)
SUBDOMAIN: Final = _of(
    _SUBDOMAIN, 253, "must be a DNS name: lower-case letters, digits, '-' and '.'"
)
LABEL_VALUE: Final = _of(
    re.compile(f"({_QUALIFIED.pattern})?"),
    63,
    "must be a label value: at most 63 letters, digits, '-', '_' and '.'",
)
PORT_NAME: Final = _of(
    _PORT_NAME, 15, "must be the name of a port: at most 15 lower-case letters, digits and '-'"
)
ENV_NAME: Final = _of(
    _ENV_NAME, 1 << 20, "must be the name of a variable: printable ASCII characters without '='"
)


def label_key(text: str) -> str | None:
    """Check the key of a label or annotation: a name, perhaps behind a domain and ``/``."""
    prefix, slash, name = text.rpartition("/")
    is_prefixed = SUBDOMAIN(prefix) is None if slash else True
    if is_prefixed and len(name) <= 63 and _QUALIFIED.fullmatch(name):
        return None
    return "must be a label key such as app or example.com/app"


def address(text: str) -> str | None:
    """Check an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return "must be an IP address"
    return None


def network(text: str) -> str | None:
    """Check a network as ``<address>/<prefix length>``; bits behind the prefix do no harm."""
    required = "must be a network such as 192.0.2.0/24"
    host, _slash, length = text.partition("/")
    if "%" in host or not length.isdecimal():
        return required
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return required
    return None


def amount(value: Any) -> str | None:
    """Check a quantity (text or number)."""
    try:
        found = quantity.parse(value)
    except QuantityError as error:
        return str(error)
    return "must not be negative" if found < 0 else None
