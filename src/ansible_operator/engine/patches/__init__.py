# SPDX-License-Identifier: Apache-2.0
"""Every touch of what Ansible does not promise to keep: private names, and patches, one file each.

``known_names`` lists what is touched. Nothing here imports Ansible before the list was checked.
"""

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ansible_operator.engine.forking.template import CannotStartError

if TYPE_CHECKING:
    from ansible_operator.engine.patches.recording import Recorder

SWITCH = "ANSIBLE_OPERATOR_PATCHES_OFF"
"""Variable with the names of patches for performance that are not to be applied."""
_UP_TO_2_18 = ("plain_data", "read_back")
_OF_COLLECTIONS = ("discovery_cache", "kubeconfigs")


def refuse_unknown() -> None:
    """Check that this ansible-core is one that the patches were written for.

    Raises:
        CannotStartError: it is not; the message says what is missing.
    """
    from ansible_operator.engine.patches.known_names import check

    check()


def install(run_sockets: list[int], recorder: Callable[[], "Recorder | None"]) -> None:
    """Patch Ansible.

    Args:
        run_sockets: descriptors that the fork of a module must not keep open; filled by the run.
        recorder: what records the events of the current run, if there is one.

    Raises:
        CannotStartError: the variable that switches patches off names one that does not exist.
    """
    from ansible_operator.engine.patches import (
        compiled_templates,
        field_copies,
        loaded_plays,
        modules,
        plugin_searches,
        recording,
        role_ends,
        role_files,
        settings,
        strategy,
        template_lookups,
        versions,
    )

    versions.censor_failures()
    settings.keep_facts_private()
    recording.record_display(recorder)
    recording.record_callbacks(recorder)
    performance: dict[str, Callable[[], None]] = {
        "modules": partial(modules.install, run_sockets),
        "strategy": strategy.install,
        "role_files": role_files.install,
        "role_ends": role_ends.install,
        "compiled_templates": compiled_templates.install,
        "plugin_searches": plugin_searches.install,
        "template_lookups": template_lookups.install,
        "field_copies": field_copies.install,
        "loaded_plays": partial(loaded_plays.install, recorder),
    }
    if not versions.HAS_PROFILES:
        from ansible_operator.engine.patches import plain_data, read_back

        performance |= {"read_back": read_back.install, "plain_data": plain_data.install}
    for name in _wanted(performance):
        performance[name]()


def _wanted(names: Iterable[str]) -> list[str]:
    """Those of the patches for performance that are not switched off, in their order.

    Raises:
        CannotStartError: one that is switched off does not exist in any release.
    """
    off = {name for name in re.split(r"[,\s]+", os.environ.get(SWITCH, "")) if name}
    known = {*names, *_UP_TO_2_18, *_OF_COLLECTIONS}
    if not off <= known and not {*names} <= {*_OF_COLLECTIONS}:
        unknown, listed = ", ".join(sorted(off - known)), ", ".join(sorted(known))
        raise CannotStartError(f"{SWITCH} names {unknown[:200]}: the patches are {listed}")
    return [name for name in names if name not in off]


def install_into_collections(folder: Path) -> None:
    """Patch the Kubernetes client and kubernetes.core, once they are loaded.

    Args:
        folder: for what all runs share.
    """
    from ansible_operator.engine.patches import discovery_cache, kubeconfigs

    patches: dict[str, Callable[[], None]] = {
        "kubeconfigs": kubeconfigs.install,
        "discovery_cache": partial(discovery_cache.share, folder),
    }
    for name in _wanted(patches):
        patches[name]()
