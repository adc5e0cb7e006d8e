# SPDX-License-Identifier: Apache-2.0
"""Which MatrixOne runs: one that the test bed builds, or any program or image that is given.

``MATRIXONE`` names a release line that is built. ``MO_SERVICE`` is the path of any other
mo-service, or of an archive of its image, and ``MO_VERSION`` the tag of the image, from which the
operator reads the version; by default it is the version that program or archive report.
``UPGRADE_SERVICE`` and ``UPGRADE_VERSION`` likewise are what a test of upgrades ends with.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed import building
from testbed.errors import RequirementError
from testbed.images import given as images
from testbed.images.archives import ArchiveError, is_archive
from testbed.progress import Progress, silent

REPOSITORY = "matrixorigin/matrixone"
DEFAULT = "2.0"
VARIABLES = ("MATRIXONE", "MO_SERVICE", "MO_VERSION")

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_REPORTED = re.compile(r"^\s*Version:\s*v?(\d+\.\d+\.\d+[A-Za-z0-9_.-]*)\s*$", re.MULTILINE)
_FOUND = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_LOADER = re.compile(r"^\s*(/\S+) \(0x", re.MULTILINE)
_MISSING = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_ELF = b"\x7fELF"
_ANSWER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Database:
    """A MatrixOne that the test bed can run.

    Attributes:
        tag: of its image; the version, where it has one.
        program: what `testbed.building` builds it as; empty if it is given.
        given: the program that the user brings.
        archive: the archive of an image that the user brings.
    """

    tag: str
    program: str = ""
    given: Path | None = None
    archive: Path | None = None

    @property
    def image(self) -> str:
        """Its image as a Pod names it."""
        return f"{REPOSITORY}:{self.tag}"

    @property
    def reference(self) -> str:
        """The full name of its image, by which a node keeps it."""
        return f"docker.io/{self.image}"

    def provide(self, progress: Progress = silent) -> Path:
        """Return the path of its program; build it if it is nowhere to be found.

        Raises:
            TestBedError: it cannot be built, or is an image.
        """
        if self.archive:
            raise RequirementError(
                f"{self.archive} is an image: what runs outside of a cluster needs MO_SERVICE as "
                "the path of a program"
            )
        if self.given:
            return self.given
        return building.provide([self.program], progress)[self.program]

    def environment(self) -> dict[str, str]:
        """Return the variables by which the program finds its libraries on this machine."""
        return _library_path(self.given) if self.given else {}

    def libraries(self, program: Path) -> tuple[dict[str, Path], Path | None]:
        """Return its shared libraries by name, and its loader; none of a static program.

        Raises:
            RequirementError: a library is missing.
        """
        return _libraries(program, self.environment())


# The tag is the version of the line: the operator reads it from there.
BUILT: Mapping[str, Database] = {
    "2.0": Database("2.0.1", "mo-service-2.0"),
    "1.3": Database("1.3.0", "mo-service-1.3"),
}


def chosen(environment: Mapping[str, str] = os.environ) -> Database:
    """Return the MatrixOne that the environment asks for.

    Raises:
        RequirementError: it cannot be run; the message names the variable and the remedy.
    """
    service, version = environment.get("MO_SERVICE", ""), environment.get("MO_VERSION", "")
    if service:
        return _given(service, version)
    if version:
        raise RequirementError("MO_VERSION is the tag for MO_SERVICE, which is not set")
    line = environment.get("MATRIXONE", "") or DEFAULT
    if line not in BUILT:
        raise RequirementError(f"MATRIXONE={line}: the test bed builds {' and '.join(BUILT)}")
    return BUILT[line]


def upgraded(environment: Mapping[str, str] = os.environ) -> Database | None:
    """Return the MatrixOne that a test of upgrades ends with; None if none is given.

    Raises:
        RequirementError: it cannot be run; the message names the variable and the remedy.
    """
    service = environment.get("UPGRADE_SERVICE", "")
    return _given(service, environment.get("UPGRADE_VERSION", ""), "UPGRADE") if service else None


def _given(service: str, version: str, prefix: str = "MO") -> Database:
    path = Path(service).expanduser().resolve()
    is_image = _is_readable(path) and not _is_program(path) and is_archive(path)
    problem = "" if is_image else _problem(path)
    if problem:
        raise RequirementError(f"{prefix}_SERVICE: {path} {problem}")
    if not is_image:
        _libraries(path, _library_path(path))
    tag = version or (_version_of_image(path, prefix) if is_image else _version_of_program(path))
    if not tag:
        raise RequirementError(
            f"{prefix}_SERVICE: {path} does not report its version: set {prefix}_VERSION, for "
            "example to 3.0.18"
        )
    if not _TAG.fullmatch(tag):
        raise RequirementError(
            f"{prefix}_VERSION: {tag!r} is not the tag of an image, such as 3.0.18"
        )
    return Database(tag, archive=path) if is_image else Database(tag, given=path)


def _version_of_image(path: Path, prefix: str) -> str:
    stat = path.stat()
    try:
        return _version_in(path, (stat.st_size, stat.st_mtime_ns))
    except ArchiveError as error:
        raise RequirementError(f"{prefix}_SERVICE: {error}") from error


@cache
def _version_in(path: Path, _state: tuple[int, int]) -> str:
    """Read the version of an archive, once for each state (bytes, nanoseconds) of the file."""
    return images.version(path)


def _version_of_program(path: Path) -> str:
    return reported(_answer([path, "-version"], _library_path(path)))


def _problem(path: Path) -> str:
    """Return why a file cannot be a program; empty if it can."""
    if not path.exists():
        return "does not exist"
    if not path.is_file():
        return "is not a file"
    if not _is_readable(path):
        return "cannot be read by this user"
    if not os.access(path, os.X_OK):
        return f"is not executable: chmod +x {path}"
    if _is_program(path):
        return ""
    return "is not a program for Linux (ELF), nor an archive of an image (.tar, .tar.gz)"


def _is_readable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.R_OK)


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ELF)) == _ELF


def _library_folders(program: Path) -> list[Path]:
    """Return where a release keeps libraries: beside the program, or in lib beside or above it."""
    return [program.parent, program.parent / "lib", program.parent.parent / "lib"]


def _library_path(program: Path) -> dict[str, str]:
    folders = [str(folder) for folder in _library_folders(program) if folder.is_dir()]
    given = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": os.pathsep.join([*folders, *filter(None, [given])])}


def _answer(argv: list[str | Path], environment: Mapping[str, str]) -> str:
    """Return what a program prints; empty if it does not start or does not end."""
    try:
        return subprocess.run(
            argv,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ANSWER_SECONDS,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def reported(text: str) -> str:
    """Return the version in what ``mo-service -version`` prints; empty if it says none."""
    found = _REPORTED.search(text)
    return found[1] if found else ""


def _libraries(
    program: Path, environment: Mapping[str, str]
) -> tuple[dict[str, Path], Path | None]:
    listed = _answer(["ldd", program], environment)
    missing = _MISSING.findall(listed)
    if missing:
        folders = ", ".join(str(folder) for folder in _library_folders(program))
        raise RequirementError(
            f"{program} lacks {', '.join(missing)}: install it, put it into one of {folders}, "
            "or name its folder in LD_LIBRARY_PATH"
        )
    loader = _LOADER.search(listed)
    found = {name: Path(path) for name, path in _FOUND.findall(listed)}
    return found, Path(loader[1]) if loader else None
