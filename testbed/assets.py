# SPDX-License-Identifier: Apache-2.0
"""Everything a test bed requires: packages, programs, images; found, installed or built."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import building, database
from testbed.images import recipes
from testbed.packages import IMAGE_PACKAGES, NODE_PACKAGES, install
from testbed.progress import Progress
from testbed.state import NodeKind
from testbed.toolchain import programs_for


@dataclass(frozen=True, slots=True)
class Assets:
    """What has been found or built.

    Attributes:
        programs: absolute paths by name.
        archives: image archives for real nodes.
    """

    programs: dict[str, str]
    archives: list[Path]


def _usable(programs: Mapping[str, str]) -> bool:
    return bool(programs) and all(os.access(path, os.X_OK) for path in programs.values())


def provide(
    nodes: NodeKind,
    images: Sequence[str],
    progress: Progress,
    recorded: Mapping[str, str] | None = None,
) -> Assets:
    """Return what a test bed with such nodes and images needs.

    Args:
        nodes: kind of nodes.
        images: ``matrixone`` or paths of archives; fake nodes need none.
        progress: told what is installed and built.
        recorded: the programs that the test bed was made with, if it exists.

    Raises:
        TestBedError: something cannot be had; the message says what to do.
    """
    wanted = list(programs_for(nodes))
    if nodes == "fake":
        images = ()
    else:
        install({**NODE_PACKAGES, **(IMAGE_PACKAGES if images else {})}, progress)
    if recorded and _usable(recorded):
        programs = dict(recorded)
    else:
        # What the images hold is built together with the rest: it takes as long.
        extra = [database.chosen().program] if recipes.MATRIXONE in images else []
        found = building.provide([*wanted, *filter(None, extra)], progress)
        programs = {name: str(found[name]) for name in wanted}
    if nodes == "real":
        recipes.pause(Path(programs["node-init"]))
    return Assets(programs, [recipes.archive(image, progress) for image in images])
