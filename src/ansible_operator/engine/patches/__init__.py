# SPDX-License-Identifier: Apache-2.0
"""Every touch of what Ansible does not promise to keep: private names, and patches, one file each.

``known_names`` lists what is touched. Nothing here imports Ansible before the list was checked.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ansible_operator.engine.patches.recording import Recorder


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
    """
    from ansible_operator.engine.patches import (
        compiled_templates,
        field_copies,
        loaded_plays,
        modules,
        plugin_documentation,
        plugin_searches,
        recording,
        role_ends,
        role_files,
        strategy,
        template_lookups,
        versions,
    )

    versions.censor_failures()
    recording.record_display(recorder)
    recording.record_callbacks(recorder)
    modules.install(run_sockets)
    strategy.install()
    role_files.install()
    role_ends.install()
    compiled_templates.install()
    plugin_searches.install()
    plugin_documentation.install()
    template_lookups.install()
    field_copies.install()
    loaded_plays.install(recorder)
    if not versions.HAS_PROFILES:
        from ansible_operator.engine.patches import plain_data, read_back

        read_back.install()
        plain_data.install()


def install_into_collections(folder: Path) -> None:
    """Patch the Kubernetes client and kubernetes.core, once they are loaded.

    Args:
        folder: for what all runs share.
    """
    from ansible_operator.engine.patches import discovery_cache, kubeconfigs

    kubeconfigs.install()
    discovery_cache.share(folder)
