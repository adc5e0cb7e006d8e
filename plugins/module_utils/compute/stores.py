# SPDX-License-Identifier: Apache-2.0
"""The stores of a CNSet: which Pod is which store in HAKeeper (core.md §3.5, §4.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any


def store_uuid(address: str) -> str:
    """Return the UUID that a start script derives from a Pod's DNS name.

    Args:
        address: e.g. ``mo-tp-cn-abcde.mo-tp-cn-headless.prod.svc``.
    """
    text = hashlib.sha256(f"{address}\n".encode()).hexdigest()[:16]
    pairs = [f"{ord(text[i + 1]):02x}{ord(text[i]):02x}" for i in range(0, 16, 2)]
    return f"{pairs[0]}{pairs[1]}-{pairs[2]}-{pairs[3]}-{pairs[4]}-{''.join(pairs[5:])}"


def node_entries(
    pods: Iterable[Mapping[str, Any]], states: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return the entries of ``status.stores``, by Pod name.

    Args:
        pods: the Pods of the set.
        states: work states in HAKeeper by Pod, as far as they were heard.
    """
    return [
        _entry(pod, states)
        for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"]))
        if not pod["metadata"].get("deletionTimestamp")
    ]


def _entry(pod: Mapping[str, Any], states: Mapping[str, str]) -> dict[str, str]:
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    address = f"{metadata['name']}.{spec.get('subdomain') or ''}.{metadata['namespace']}.svc"
    return {
        "podName": metadata["name"],
        "uuid": store_uuid(address),
        "state": states.get(metadata["name"]) or "Unknown",
    }
