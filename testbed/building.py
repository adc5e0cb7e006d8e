# SPDX-License-Identifier: Apache-2.0
"""Building programs with Go into the cache: once, never half, not twice at the same time."""

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from testbed.checks import available_memory
from testbed.errors import BuildError, RequirementError
from testbed.locks import locked
from testbed.packages import COMPILER_PACKAGES, install
from testbed.places import cache_root
from testbed.processes import last_words
from testbed.progress import Progress, silent
from testbed.toolchain import Group, cached_folder, go_version, group_of, locate

_BUILD_SECONDS = 3600.0
_POLL_SECONDS = 0.1
_GIBIBYTES_PER_BUILD = 3
_MODULE_DOWNLOADS = 3


class CancelledError(BuildError):
    """Another build has failed or the user has pressed Ctrl-C."""


@dataclass(frozen=True, slots=True)
class _Workshop:
    """One group's build: where it works, where it logs, and whether it should go on."""

    group: Group
    folder: Path
    log: Path
    cancelled: threading.Event

    def run(self, argv: Sequence[str], cwd: Path, env: dict[str, str]) -> None:
        """Run a tool; end it and what it started when the build is cancelled."""
        with self.log.open("a") as output:
            output.write(f"+ {' '.join(argv)}\n")
            output.flush()
            tool = subprocess.Popen(
                argv, cwd=cwd, env=env, stdout=output, stderr=output, process_group=0
            )
            try:
                self._await(tool)
            finally:
                if tool.poll() is None:
                    os.killpg(tool.pid, 9)
                    tool.wait()
        if tool.returncode:
            raise BuildError(f"building {self.group.name} failed: {last_words(self.log)}")

    def _await(self, tool: "subprocess.Popen[bytes]") -> None:
        deadline = time.monotonic() + _BUILD_SECONDS
        while tool.poll() is None:
            if self.cancelled.is_set():
                raise CancelledError(f"building {self.group.name} was cancelled")
            if time.monotonic() > deadline:
                raise BuildError(f"building {self.group.name} takes too long (log: {self.log})")
            time.sleep(_POLL_SECONDS)


def _go_environment() -> dict[str, str]:
    # The user's own flags and workspace must not change what is built.
    return {**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}


def _with_library(workshop: _Workshop, env: dict[str, str]) -> dict[str, str]:
    """Make the C library that a module brings along; return the environment that links it."""
    group = workshop.group
    workshop.run(["go", "mod", "download", group.native], group.folder, env)
    module = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", group.native],
        cwd=group.folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if module.returncode:
        raise BuildError(f"go list {group.native} failed: {module.stderr.strip()}")
    # The path is part of the compiler flags and so of Go's cache keys: it stays the same.
    library = workshop.folder / "cgo"
    shutil.copytree(Path(module.stdout.strip()) / "cgo", library, copy_function=shutil.copyfile)
    library.chmod(0o755)
    workshop.run(["make"], library, env)
    return {
        **env,
        "CGO_ENABLED": "1",
        "CGO_CFLAGS": f"-I{library}",
        "CGO_LDFLAGS": f"-L{library} -lm -lmo",
    }


def _download(workshop: _Workshop, env: dict[str, str]) -> None:
    """Fetch all modules first: a lost connection is tried again, a compile error is not."""
    for attempt in range(1, _MODULE_DOWNLOADS + 1):
        try:
            packages = list(workshop.group.packages.values())
            workshop.run(["go", "list", "-deps", *packages], workshop.group.folder, env)
        except CancelledError:
            raise
        except BuildError:
            if attempt == _MODULE_DOWNLOADS:
                raise
            time.sleep(2.0**attempt)
        else:
            return


def _compile(workshop: _Workshop, programs: Sequence[str], target: Path) -> None:
    group = workshop.group
    env = _go_environment()
    _download(workshop, env)
    if group.native:
        env = _with_library(workshop, env)
    output = workshop.folder / "out"
    # A process of a build that was killed may have made it again.
    output.mkdir(exist_ok=True)
    flags = ["-ldflags", f"-s -w {group.stamp}".strip()]
    for program in programs:
        # One at a time: the linker of a big program alone takes gigabytes.
        draft = output / program
        argv = ["go", "build", *flags, "-o", str(draft), group.packages[program]]
        workshop.run(argv, group.folder, env)
        target.mkdir(parents=True, exist_ok=True)
        draft.replace(target / program)


def _build_group(
    group: Group, programs: Sequence[str], cancelled: threading.Event, progress: Progress
) -> None:
    root = cache_root()
    target = cached_folder(group)
    if target is None:
        raise RequirementError(f"Go is needed to build {', '.join(programs)}")
    with locked(root / "locks" / group.name, timeout=_BUILD_SECONDS):
        missing = [name for name in programs if not (target / name).exists()]
        if not missing:
            return
        if group.native:
            install(COMPILER_PACKAGES, progress)
        folder = root / "building" / group.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        log = root / "logs" / f"{group.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text("")
        progress(f"building {', '.join(missing)} (once; up to {group.minutes:g} min on 4 cores)")
        begun = time.monotonic()
        try:
            _compile(_Workshop(group, folder, log, cancelled), missing, target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        progress(f"built {', '.join(missing)} in {time.monotonic() - begun:.0f} s")


def _parallel_builds() -> int:
    return max(1, min(4, available_memory() // (_GIBIBYTES_PER_BUILD << 30)))


def _check_machine(programs: Sequence[str]) -> None:
    """Refuse to build without Go, and where it would be killed for lack of memory."""
    if go_version() is None:
        raise RequirementError(
            f"Go is needed to build {', '.join(programs)}: install it from https://go.dev/dl "
            "(1.21 or newer), or put these programs on PATH"
        )
    if available_memory() < _GIBIBYTES_PER_BUILD << 30:
        raise RequirementError(
            f"building {', '.join(programs)} needs {_GIBIBYTES_PER_BUILD} GiB of free memory, "
            f"{available_memory() >> 20} MiB are left: end other programs, or put these on PATH"
        )


def provide(programs: Iterable[str], progress: Progress = silent) -> dict[str, Path]:
    """Return the paths of programs; build those that are nowhere to be found.

    Raises:
        RequirementError: a compiler or memory is missing.
        BuildError: the compiler fails; the message ends with what it said last.
    """
    wanted = list(programs)
    found, missing = locate(wanted)
    if not missing:
        return found
    _check_machine(missing)
    groups: dict[str, list[str]] = {}
    for program in missing:
        groups.setdefault(group_of(program).name, []).append(program)
    cancelled = threading.Event()
    with ThreadPoolExecutor(_parallel_builds(), thread_name_prefix="build") as pool:
        builds = [
            pool.submit(_build_group, group_of(names[0]), names, cancelled, progress)
            for names in groups.values()
        ]
        try:
            for build in as_completed(builds):
                build.result()
        except BaseException:
            cancelled.set()
            for build in builds:
                build.cancel()
            raise
    found, missing = locate(wanted)
    if missing:
        raise BuildError(f"{', '.join(missing)} could not be built; see {cache_root() / 'logs'}")
    return found
