# SPDX-License-Identifier: Apache-2.0
"""The images that the test bed makes by itself: MatrixOne, and the pause image of pods."""

import hashlib
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from testbed import database
from testbed.database import Database
from testbed.errors import BuildError, NotFoundError
from testbed.images import archives, given, layers, oci
from testbed.images.oci import Entry, Image
from testbed.locks import locked
from testbed.packages import IMAGE_PACKAGES, install, static_busybox
from testbed.places import cache_root
from testbed.progress import Progress

PAUSE = "registry.testbed.invalid/pause:1"
MATRIXONE = "matrixone"
"""The name that `--image` knows: the database that `testbed.database` chooses."""

_BUILD_SECONDS = 600.0
_KEEP_SECONDS = 3600.0
_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/:/bin/sh\nmatrixone:x:65532:65532:matrixone:/tmp:/bin/sh\n",
    "/etc/group": "root:x:0:\nmatrixone:x:65532:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def _shell(busybox: Path) -> list[Entry]:
    """Return busybox and a link for each of its commands."""
    answer = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    links = [Entry(f"/bin/{name}", link="busybox") for name in answer.stdout.split()]
    accounts = [Entry(path, content=text.encode(), mode=0o644) for path, text in _ACCOUNTS.items()]
    folders = [Entry("/tmp", mode=0o1777), Entry("/usr/bin", link="../bin")]  # noqa: S108
    own = Entry("/bin/busybox", source=busybox)
    return [*(link for link in links if link.path != own.path), own, *accounts, *folders]


def library_entries(found: Mapping[str, Path], loader: Path | None) -> list[Entry]:
    """Return libraries as files of an image, all of them where the loader looks by itself."""
    if loader is None:
        return []
    folder = found.get("libc.so.6", loader).parent
    entries = [Entry(str(folder / name), source=path) for name, path in found.items()]
    return [*entries, Entry(str(loader), source=loader)]


def _matrixone(name: str, program: Path, libraries: Iterable[Entry], busybox: Path) -> Image:
    entries = [*_shell(busybox), *libraries, Entry("/mo-service", source=program)]
    return Image(name, entries, entrypoint=["/mo-service"])


def _pause(program: Path) -> Image:
    return Image(PAUSE, [Entry("/pause", source=program)], entrypoint=["/pause"], user="65532")


def _fingerprint(sources: Iterable[Path]) -> str:
    """Return a digest of the files that determine an image."""
    code = (__file__, *(str(module.__file__) for module in (archives, given, layers, oci)))
    facts: list[object] = [Path(module).read_text() for module in code]
    for path in sources:
        stat = path.stat()
        facts.append((str(path), stat.st_size, stat.st_mtime_ns))
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


def _cached(name: str, sources: Sequence[Path], write: Callable[[Path], object]) -> Path:
    """Return an image's archive; write it when its sources have changed, and drop old ones."""
    target = cache_root() / "images" / f"{name}-{_fingerprint(sources)}.tar"
    with locked(cache_root() / "locks" / f"image-{name}", timeout=_BUILD_SECONDS):
        if not target.exists():
            write(target)
            for old in target.parent.glob(f"{name}-*.tar"):
                # Somebody with other sources may be about to read a fresh one.
                if old.stat().st_mtime < time.time() - _KEEP_SECONDS:
                    old.unlink()
    return target


def archive(image: str, progress: Progress) -> Path:
    """Return the archive of an image, built now if it is one of ours and not cached.

    Args:
        image: ``matrixone``, or the path of an archive.
        progress: told what is built.

    Raises:
        NotFoundError: no such file.
        TestBedError: the image cannot be made.
    """
    if image == MATRIXONE:
        return matrixone(database.chosen(), progress)
    path = Path(image)
    if not path.is_file():
        raise NotFoundError(f"{image} is neither a file nor a known image ({MATRIXONE})")
    return path.resolve()


def pause(program: Path) -> Path:
    """Return the archive of the pause image.

    Args:
        program: the ``node-init`` program.
    """
    return _cached("pause", [program], lambda target: oci.write(_pause(program), target))


def matrixone(chosen: Database, progress: Progress) -> Path:
    """Return the archive of a MatrixOne image; builds the database when need be.

    An image that is given is checked and copied under the name that Pods use.

    Raises:
        ArchiveError: the image that is given cannot be used.
        RequirementError: busybox or a compiler is missing and cannot be installed.
        BuildError: the compiler fails.
    """
    if chosen.archive:
        path = chosen.archive
        return _cached(
            f"{MATRIXONE}-{chosen.tag}",
            [path],
            lambda target: given.write(path, chosen.reference, target),
        )
    install(IMAGE_PACKAGES, progress)
    program = chosen.provide(progress)
    busybox = static_busybox()
    if busybox is None:
        raise BuildError("no static busybox: apt-get install busybox-static")
    libraries = library_entries(*chosen.libraries(program))
    sources = [program, busybox, *(entry.source for entry in libraries if entry.source)]
    return _cached(
        f"{MATRIXONE}-{chosen.tag}",
        sources,
        lambda target: oci.write(_matrixone(chosen.reference, program, libraries, busybox), target),
    )
