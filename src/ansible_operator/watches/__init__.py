# SPDX-License-Identifier: Apache-2.0
"""The watches file: parsing, defaults, validation."""

from ansible_operator.watches.durations import InvalidDuration, format_duration, parse_duration
from ansible_operator.watches.environment import ansible_verbosity, max_concurrent_reconciles
from ansible_operator.watches.loader import WatchesError, load
from ansible_operator.watches.model import (
    Admission,
    DependentAnnotations,
    Finalizer,
    Isolation,
    KindName,
    Members,
    PlayPath,
    Probe,
    Reference,
    Retry,
    Watch,
)
from ansible_operator.watches.selector import Requirement, Selector

__all__ = [
    "Admission",
    "DependentAnnotations",
    "Finalizer",
    "InvalidDuration",
    "Isolation",
    "KindName",
    "Members",
    "PlayPath",
    "Probe",
    "Reference",
    "Requirement",
    "Retry",
    "Selector",
    "Watch",
    "WatchesError",
    "ansible_verbosity",
    "format_duration",
    "load",
    "max_concurrent_reconciles",
    "parse_duration",
]
