# SPDX-License-Identifier: Apache-2.0
"""Builds images from Dockerfiles with whatever builder is there: docker, podman or buildah."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from image import base
from testbed.errors import TestBedError
from testbed.locks import locked
from testbed.packages import find_tool, install
from testbed.places import cache_root
from testbed.progress import Progress, silent

ROOT = Path(__file__).resolve().parents[1]
DEBOOTSTRAP = "debootstrap"
"""As BASE_IMAGE: make the base image out of Debian's packages (buildah only)."""
PACKAGES: dict[str, Callable[[], object]] = {"buildah": lambda: find_tool("buildah")}
_LOCAL_BASE = "localhost/debian:bookworm"
_DRIVER = "overlay"
_MOST_IMAGES = 80
_SECONDS = 1800.0
_KEEP_SECONDS = 3600.0


class ImageError(TestBedError):
    """An image could not be built or pushed; the message says why."""


@dataclass(frozen=True, slots=True)
class Build:
    """What is to be built.

    Attributes:
        image: its name, with tag.
        context: folder with the Dockerfile.
        target: stage of the Dockerfile; ``""`` for the last.
        arguments: build arguments.
        platforms: ``linux/amd64,linux/arm64`` or alike; ``""`` for this machine's.
        parents: archives of images that the Dockerfile begins with, by name (buildah only).
    """

    image: str
    context: Path = ROOT
    target: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    platforms: str = ""
    parents: Mapping[str, Path] = field(default_factory=dict)

    def flags(self) -> list[str]:
        """The arguments that docker, podman and buildah share."""
        flags = ["--tag", self.image]
        flags += ["--target", self.target] if self.target else []
        flags += ["--platform", self.platforms] if self.platforms else []
        for name, value in self.arguments.items():
            flags += ["--build-arg", f"{name}={value}"]
        authority = os.environ.get("PIP_CERT", "")
        flags += ["--secret", f"id=ca,src={authority}"] if authority else []
        return [*flags, str(self.context)]


def run(command: Sequence[str | Path]) -> str:
    """Run a builder's command and return its output.

    Raises:
        ImageError: it failed; the message ends with its last lines.
    """
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    if done.returncode:
        last = "\n".join(done.stdout.strip().splitlines()[-25:])
        raise ImageError(f"{' '.join(map(str, command))} failed:\n{last}")
    return done.stdout


def buildah(*arguments: str | Path) -> str:
    """Run buildah on a separate storage, so that the user's storage is not changed.

    Raises:
        ImageError: it failed.
    """
    storage = cache_root() / "containers"
    command = [
        *("buildah", "--storage-driver", _DRIVER),
        *("--root", str(storage / "root"), "--runroot", str(storage / "run")),
    ]
    # Its mounts end with the namespace.
    private = ["unshare", "--mount"] if os.geteuid() == 0 else []
    return run([*private, *command, *map(str, arguments)])


@contextmanager
def storage() -> Iterator[None]:
    """Keep other builds away from buildah's storage during the block."""
    with locked(cache_root() / "locks" / "containers", timeout=_SECONDS):
        yield


def found_builder() -> str:
    """Return the first of docker, podman and buildah that works.

    Raises:
        ImageError: none does.
    """
    for name in ("docker", "podman"):
        if shutil.which(name):
            asked = subprocess.run([name, "info"], capture_output=True, check=False, timeout=60)
            if asked.returncode == 0:
                return name
    if find_tool("buildah"):
        return "buildah"
    raise ImageError("docker, podman or buildah is needed; on Debian: apt-get install buildah")


def build(wanted: Build, builder: str, progress: Progress = silent) -> None:
    """Build an image, and keep it where the builder keeps images.

    Raises:
        ImageError: the build failed.
    """
    if builder == "buildah":
        _forget_old_ones()
    wanted = _with_base(wanted, builder, progress)
    progress(f"building {wanted.image} with {builder}")
    if builder == "buildah":
        for image, archive in wanted.parents.items():
            _import(image, archive)
        buildah("build", "--isolation", "chroot", "--layers", *wanted.flags())
    elif wanted.platforms:
        run([builder, "buildx", "build", *wanted.flags()])
    else:
        run([builder, "build", *wanted.flags()])


def _with_base(wanted: Build, builder: str, progress: Progress) -> Build:
    """Build the local base image if requested."""
    arguments = dict(wanted.arguments)
    if arguments.get("BASE_IMAGE") != DEBOOTSTRAP:
        return wanted
    if builder != "buildah":
        raise ImageError(f"BASE_IMAGE={DEBOOTSTRAP} needs BUILDER=buildah, not {builder}")
    if _LOCAL_BASE not in _kept():
        _import_base(base.root_archive(progress))
    return replace(wanted, arguments={**arguments, "BASE_IMAGE": _LOCAL_BASE})


def _kept() -> list[str]:
    """Names of the images that buildah keeps."""
    return buildah("images", "--format", "{{.Name}}:{{.Tag}}").split()


def _import(image: str, archive: Path) -> None:
    """Give an image to buildah, unless it has one of that name."""
    if image not in _kept():
        buildah("tag", buildah("pull", "--quiet", f"oci-archive:{archive}").split()[-1], image)


def _import_base(archive: Path) -> None:
    container = buildah("from", "--isolation", "chroot", "scratch").split()[-1]
    try:
        buildah("add", "--quiet", container, archive, "/")
        path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        buildah("config", "--env", path, "--cmd", "sh", container)
        buildah("commit", "--quiet", container, _LOCAL_BASE)
    finally:
        buildah("rm", container)


def _forget_old_ones() -> None:
    """Empty the storage when layers of many builds have gathered there."""
    if len(buildah("images", "--all", "--quiet").split()) > _MOST_IMAGES:
        buildah("rmi", "--all", "--force")


def archive(wanted: Build, sources: Sequence[Path], progress: Progress = silent) -> Path:
    """Return an OCI archive of an image, for nodes that no registry serves; built if need be.

    Args:
        wanted: the image; BASE_IMAGE is made out of Debian's packages unless it is given.
        sources: files and folders that the image is made of.
        progress: told what happens.

    Raises:
        ImageError: the build failed.
        RequirementError: buildah or mmdebstrap is missing and cannot be installed.
    """
    install(PACKAGES, progress)
    name = wanted.image.rpartition("/")[2].partition(":")[0]
    folder = cache_root() / "images"
    target = folder / f"{name}-{_fingerprint(wanted, sources)}.tar"
    with storage():
        if not target.exists():
            given = {"BASE_IMAGE": DEBOOTSTRAP, **wanted.arguments}
            build(replace(wanted, arguments=given), "buildah", progress)
            _export(wanted.image, target)
        _drop_others(target, name)
    return target


def _export(image: str, target: Path) -> None:
    """Write an image that buildah keeps as an OCI archive; it appears when it is complete."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".draft-") as folder:
        pushed, named = Path(folder) / "pushed.tar", Path(folder) / "named.tar"
        buildah("push", "--quiet", image, f"oci-archive:{pushed}:{image}")
        with tarfile.open(pushed) as source, tarfile.open(named, "w") as archive:
            for member in source:
                _copy(source, member, archive, image)
        named.replace(target)


def _copy(
    source: tarfile.TarFile, member: tarfile.TarInfo, archive: tarfile.TarFile, image: str
) -> None:
    """Copy an entry; the index gets the name by which containerd knows the image."""
    content = source.extractfile(member)
    if member.name.removeprefix("./") == "index.json" and content is not None:
        index = json.load(content)
        for manifest in index["manifests"]:
            manifest.setdefault("annotations", {})["io.containerd.image.name"] = image
        encoded = json.dumps(index).encode()
        member.size = len(encoded)
        content = io.BytesIO(encoded)
    archive.addfile(member, content)


def _drop_others(target: Path, name: str) -> None:
    for old in target.parent.glob(f"{name}-*.tar"):
        # Somebody with other sources may be about to read a fresh one.
        if old != target and old.stat().st_mtime < time.time() - _KEEP_SECONDS:
            old.unlink()


def _fingerprint(wanted: Build, sources: Sequence[Path]) -> str:
    """Return a digest of the files that determine an image."""
    content = hashlib.sha256(repr((wanted.image, wanted.target, wanted.arguments)).encode())
    for path in sorted(file for source in sources for file in _files(source)):
        content.update(f"{path}\0{path.stat().st_mode:o}\0".encode())
        content.update(path.read_bytes())
    return content.hexdigest()[:12]


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    for path in source.rglob("*") if source.is_dir() else ():
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
