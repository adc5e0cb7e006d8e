# SPDX-License-Identifier: Apache-2.0
"""From custom resources to Kubernetes objects, as pure functions.

Everything here is computed from its arguments: no I/O, no clock, no randomness, no state. Arguments
are never changed. Defaults are applied here, so nothing relies on a webhook or on defaults of the
CRDs. This package imports nothing but the standard library, and never a client.
"""

from __future__ import annotations

from . import names
from .cluster import credential_secret, render_matrixonecluster
from .cnset import render_cnset
from .dnset import render_dnset
from .early import render_early
from .errors import InvalidSpec, RenderingError
from .everything import find_references, render_everything, render_set
from .logset import bootstrap_decision, render_logset
from .proxyset import render_proxyset
from .types import BootstrapMember, LogSetObserved, Manifest, References, Resource
from .webui import render_webui

__all__ = [
    "BootstrapMember",
    "InvalidSpec",
    "LogSetObserved",
    "Manifest",
    "References",
    "RenderingError",
    "Resource",
    "bootstrap_decision",
    "credential_secret",
    "find_references",
    "names",
    "render_cnset",
    "render_dnset",
    "render_early",
    "render_everything",
    "render_logset",
    "render_matrixonecluster",
    "render_proxyset",
    "render_set",
    "render_webui",
]
