# SPDX-License-Identifier: Apache-2.0
"""Run directories of objects that were deleted while no operator ran.

They hold the objects' content, so they are removed. A folder of run directories may be shared by
operators, even of several clusters: only what belongs to this cluster, to kinds and namespaces that
are watched, and has not been touched since this process started is removed.
"""

from collections.abc import Collection
from functools import partial
from pathlib import Path

from ansible_operator.engine import rundir
from ansible_operator.engine.disk_threads import in_disk_thread
from ansible_operator.errors import EngineError
from ansible_operator.kube.informer import KindInformer
from ansible_operator.logs import get_logger
from ansible_operator.loop.settings import Controlled, RunSettings

_LOG = get_logger("runner")


async def remove_leftovers(
    controlled: Controlled,
    informer: KindInformer,
    settings: RunSettings,
    namespaces: Collection[str],
    started: float,
) -> None:
    """Remove the run directories of objects of one kind that do not exist any more.

    Args:
        controlled: the kind.
        informer: its complete cache.
        settings: where run directories are, and for which cluster.
        namespaces: ``WATCH_NAMESPACE``; empty for all.
        started: when this process began, in seconds since 1970.
    """
    gvk = controlled.gvk
    folder = settings.run_root.joinpath(gvk.group, gvk.version, gvk.kind)
    levels = 2 if controlled.resource.namespaced else 1
    try:
        if not await in_disk_thread(partial(rundir.claim, settings.run_root, settings.cluster)):
            return
        found = await in_disk_thread(partial(rundir.untouched, folder, levels, started))
        for path in found:
            name, namespace = path.name, path.parent.name if levels == 2 else ""
            outside = namespace and namespaces and namespace not in namespaces
            if not outside and informer.get(namespace, name) is None:
                await _remove(path)
    except OSError as error:
        _LOG.info("Old run directories cannot be listed", error=str(error))


async def _remove(path: Path) -> None:
    try:
        await in_disk_thread(partial(rundir.remove, path))
    except EngineError as error:
        _LOG.info("An old run directory cannot be removed", error=str(error))
    else:
        _LOG.info("Removed the run directory of a deleted object", path=str(path))
