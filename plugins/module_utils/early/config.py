# SPDX-License-Identifier: Apache-2.0
"""Configuration of a whole MatrixOne in one process.

``mo-service -launch`` reads which services to start from one file, and each service from a file of
its own. Everything is kept below one folder of the data volume. Identities are constant, because
they are part of the paths in it.
"""

from __future__ import annotations

from typing import Final

from ..api import names, toml
from ..api import quantities as quantity
from ..api.fields import Fields
from ..api.toml import Table
from ..workload import storage

MOUNT: Final = "/etc/matrixone"
DATA_DIR: Final = "/store/mo-data"
LAUNCH_FILE: Final = "launch.toml"
LOG_FILE: Final = "/log/mo.log"

_LOG: Final = "log.toml"
_TN: Final = "tn.toml"
_CN: Final = "cn.toml"
_TN_UUID: Final = "00000000-0000-0000-0000-100000000000"
_CN_UUID: Final = "00000000-0000-0000-0000-200000000000"
_TN_PORT_BASE: Final = 19000
_CN_PORT_BASE: Final = 18000
_LARGEST_MEMORY_CACHE: Final = 512 << 20
_MEMORY_PARTS: Final = 4
_DISK_PARTS: Final = 5
_TN_PARTS: Final = 4
_SMALL_MEMORY_CACHE: Final = 16 << 20
_LOG_MEGABYTES: Final = 64
_LOG_FILES: Final = 10


def launch_files(spec: Fields, *, log_to_volume: bool) -> dict[str, str]:
    """Return the configuration files by name.

    Args:
        spec: of the MatrixoneCluster.
        log_to_volume: whether the log is a file on the log volume instead of the output.

    Raises:
        InvalidSpec: A size cannot be read.
    """
    memory = memory_cache(spec)
    disk = quantity.to_bytes(storage.size_of(spec, "dataVolumeCap")) // _DISK_PARTS
    common = {"log": _logging(log_to_volume=log_to_volume), "observability": _metrics()}
    files: dict[str, Table] = {
        LAUNCH_FILE: {
            "logservices": [f"{MOUNT}/{_LOG}"],
            "tnservices": [f"{MOUNT}/{_TN}"],
            "cnservices": [f"{MOUNT}/{_CN}"],
        },
        _LOG: {**common, **_service("LOG", _SMALL_MEMORY_CACHE, 0)},
        _TN: {
            **common,
            **_service("TN", max(memory // _TN_PARTS, _SMALL_MEMORY_CACHE), 0),
            "tn": {"uuid": _TN_UUID, "port-base": _TN_PORT_BASE},
        },
        _CN: {
            **common,
            **_service("CN", memory, disk),
            "cn": {
                "uuid": _CN_UUID,
                "port-base": _CN_PORT_BASE,
                "frontend": {"port": names.PORT_SQL},
            },
        },
    }
    return {name: toml.dump(content) for name, content in files.items()}


def memory_cache(spec: Fields) -> int:
    """Return the bytes of the compute node's cache in memory.

    It is a quarter of the memory limit, or else of the request, and never more than 512 MiB.
    """
    for field in ("limits", "requests"):
        size = storage.checked_bytes(spec.table(field), "memory")
        if size:
            return min(_LARGEST_MEMORY_CACHE, size // _MEMORY_PARTS)
    return _LARGEST_MEMORY_CACHE


def _service(service_type: str, memory: int, disk: int) -> Table:
    """Return what the files of all services have in common.

    A cache on disk shares the volume with the data, so only the compute node has one, within the
    share that it may take.
    """
    shared: Table = {"memory-capacity": f"{memory}B"}
    if disk:
        shared["disk-path"] = f"{DATA_DIR}/disk-cache"
    shared["disk-capacity"] = f"{disk}B" if disk else "1B"
    return {
        "service-type": service_type,
        "data-dir": DATA_DIR,
        "fileservice": [
            _store("LOCAL", "DISK", {"memory-capacity": f"{_SMALL_MEMORY_CACHE}B"}),
            _store("SHARED", "DISK", shared),
            _store("ETL", "DISK-ETL", storage.no_cache()),
        ],
    }


def _store(name: str, backend: str, cache: Table) -> Table:
    folder = f"{DATA_DIR}/{name.lower()}"
    return {"name": name, "backend": backend, "data-dir": folder, "cache": cache}


def _logging(*, log_to_volume: bool) -> Table:
    table: Table = {"level": "info", "format": "console"}
    if log_to_volume:
        table |= {"filename": LOG_FILE, "max-size": _LOG_MEGABYTES, "max-backups": _LOG_FILES}
    return table


def _metrics() -> Table:
    return {"enable-metric-to-prom": True, "status-port": names.PORT_METRICS}
