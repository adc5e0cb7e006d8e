# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes on this machine, without Docker: for the demo, tests and measurements.

Everything a caller needs is here; see README.md beside this file. Names are loaded when they are
first used, so that the volume provisioner, which lives as long as a test bed, stays small.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from testbed.add_ons import add_object_store, get_object_store
    from testbed.bed import KubectlError, TestBed
    from testbed.errors import BuildError, NotFoundError, RequirementError, StartError, TestBedError
    from testbed.lifecycle import (
        Status,
        build,
        down,
        get,
        load_image,
        names,
        status,
        stop_node,
        tag_image,
        up,
    )
    from testbed.object_store import ObjectStore
    from testbed.progress import Progress

__all__ = [
    "BuildError",
    "KubectlError",
    "NotFoundError",
    "ObjectStore",
    "Progress",
    "RequirementError",
    "StartError",
    "Status",
    "TestBed",
    "TestBedError",
    "add_object_store",
    "build",
    "down",
    "get",
    "get_object_store",
    "load_image",
    "names",
    "status",
    "stop_node",
    "tag_image",
    "up",
]

_HOMES = {
    "KubectlError": "bed",
    "TestBed": "bed",
    "BuildError": "errors",
    "RequirementError": "errors",
    "NotFoundError": "errors",
    "StartError": "errors",
    "TestBedError": "errors",
    "ObjectStore": "object_store",
    "Progress": "progress",
    "add_object_store": "add_ons",
    "get_object_store": "add_ons",
}


# Hidden from type checkers: they would take any misspelt name for an attribute.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"testbed.{_HOMES.get(name, 'lifecycle')}"), name)
