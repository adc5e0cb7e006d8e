# SPDX-License-Identifier: Apache-2.0
"""A base image out of Debian's packages, for machines that reach no registry.

It holds what ``debian:12-slim`` holds: the essential packages, without manuals and locales.
"""

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from testbed.errors import TestBedError
from testbed.locks import locked
from testbed.packages import find_tool, install
from testbed.places import cache_root
from testbed.progress import Progress

RELEASE = "bookworm"
PACKAGES: dict[str, Callable[[], object]] = {"mmdebstrap": lambda: find_tool("mmdebstrap")}
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
_KEPT = ("/usr/share/doc/*/copyright",)
_SECONDS = 900.0


class BaseError(TestBedError):
    """The base image could not be built; the message ends with the tool's output."""


def root_archive(progress: Progress) -> Path:
    """Return a tar of the root file system; built once and kept in the cache.

    Raises:
        BaseError: the packages cannot be had.
        RequirementError: mmdebstrap is missing and cannot be installed.
    """
    target = cache_root() / "images" / f"debian-{RELEASE}-root.tar"
    with locked(cache_root() / "locks" / "image-base", timeout=_SECONDS):
        if not target.exists():
            install(PACKAGES, progress)
            progress(f"making a base image out of Debian {RELEASE}'s packages")
            target.parent.mkdir(parents=True, exist_ok=True)
            _bootstrap(target)
    return target


def _bootstrap(target: Path) -> None:
    filters = [f"--dpkgopt=path-exclude={path}" for path in _LEFT_OUT]
    filters += [f"--dpkgopt=path-include={path}" for path in _KEPT]
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".draft-") as folder:
        draft = Path(folder) / "root.tar"
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", *filters, RELEASE, draft],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise BaseError(f"mmdebstrap failed: {done.stderr.strip()[-600:]}")
        draft.replace(target)
