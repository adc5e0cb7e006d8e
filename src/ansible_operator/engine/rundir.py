# SPDX-License-Identifier: Apache-2.0
"""ansible-runner's private data directory: made, filled, rotated, removed.

Everything in it belongs to the operator's user alone: directories are 0700, files 0600, because
the extra variables hold the complete custom resource.
"""

import contextlib
import json
import os
import shutil
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.engine.extra_vars import ExtraVars, file_for_ansible
from ansible_operator.engine.interface import PlaybookTarget, RoleTarget, RunRequest
from ansible_operator.engine.private_files import (
    create_private,
    keep_private,
    make_folders,
    make_private,
    write_private,
)
from ansible_operator.errors import EngineError

LATEST = "latest"
LOCALHOST = "localhost"
_CLUSTER = ".cluster"
"""File in a folder of private data directories that names the cluster of their objects."""
_KUBECONFIG_VARIABLES = ("K8S_AUTH_KUBECONFIG", "KUBECONFIG")
_TEMPORARY = ".temporary"
"""Link in the private data directory to the run's folder for temporary files."""


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Where one run finds its input and leaves its output.

    Attributes:
        root: the private data directory of the object.
        ident: job id of the run.
        playbook: the file that is played; generated for a role.
        generated: whether the playbook is removed after the run.
        temporary: folder for temporary files (``TMPDIR``), removed after the run. It does not lie
            below the root, because sockets are made in it, whose paths must be short.
    """

    root: Path
    ident: str
    playbook: Path
    generated: bool
    temporary: Path

    @property
    def artifacts(self) -> Path:
        """The folder of this run's output."""
        return self.root / "artifacts" / self.ident

    @property
    def project(self) -> Path:
        """The working directory of the play."""
        return self.root / "project"

    @property
    def inventory(self) -> Path:
        """The directory that the play uses as inventory."""
        return self.root / "inventory"

    @property
    def extra_vars(self) -> Path:
        """The file of extra variables, where ansible-runner looks for it."""
        return self.root / "env" / "extravars"

    def write_extra_vars(self, variables: ExtraVars) -> None:
        """Write that file.

        Raises:
            EngineError: it cannot be written so that Ansible reads what it says.
        """
        text = file_for_ansible(variables)
        try:
            keep_private(str(self.extra_vars), text)
        except OSError as error:
            raise EngineError(f"cannot write {self.extra_vars}: {error.strerror}") from error


def prepare(request: RunRequest, place: Path | None = None) -> RunDirectory:
    """Fill the private data directory of a run.

    Args:
        request: what is to be run.
        place: where the run's folder for temporary files is made; None for the system's own.

    Raises:
        EngineError: the directory cannot be used, the playbook or inventory cannot be read, or
            Ansible would misunderstand a variable.
    """
    request.extra_vars.check()
    try:
        return _fill(request, place)
    except OSError as error:
        reason = f"{error.strerror or error}: {error.filename}" if error.filename else str(error)
        raise EngineError(f"cannot prepare run directory {request.directory}: {reason}") from error


def finish(directory: RunDirectory, artifacts_to_keep: int, *, in_use: bool = False) -> None:
    """Remove what only the run needed, and the artifact folders above the limit.

    The newest folders stay; this run's own always does.

    Args:
        directory: of the run.
        artifacts_to_keep: how many folders stay; 0 keeps all.
        in_use: whether tasks that the play does not wait for may still use temporary files; the
            next run deletes them then.
    """
    if directory.generated:
        directory.playbook.unlink(missing_ok=True)
    if not in_use:
        _remove_temporary(directory.root)
    if artifacts_to_keep > 0:
        rotate(directory.root / "artifacts", artifacts_to_keep, directory.ident)


def rotate(artifacts: Path, keep: int, current: str) -> None:
    """Remove the oldest artifact folders until ``keep`` are left (``latest`` is not one)."""
    folders = [
        (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path)
        for entry in os.scandir(artifacts)
        if entry.is_dir(follow_symlinks=False) and entry.name != current
    ]
    folders.sort(reverse=True)
    for _, path in folders[max(0, keep - 1) :]:
        shutil.rmtree(path, ignore_errors=True)


def remove(directory: Path) -> None:
    """Remove a private data directory with all artifacts; missing is fine.

    Raises:
        EngineError: something of it could not be removed.
    """
    try:
        _remove_temporary(directory)
        shutil.rmtree(directory)
    except FileNotFoundError:
        return
    except OSError as error:
        raise EngineError(
            f"cannot remove run directory {directory}: {error.strerror or error}"
        ) from error


def claim(root: Path, cluster: str) -> bool:
    """Whether a folder of private data directories belongs to a cluster; an empty one does now.

    Raises:
        OSError: the folder cannot be read or written.
    """
    marker = root / _CLUSTER
    with contextlib.suppress(FileNotFoundError):
        return marker.read_text() == cluster
    make_folders(root)
    if any(root.iterdir()):
        return False
    write_private(marker, cluster)
    return True


def untouched(folder: Path, levels: int, since: float) -> list[Path]:
    """Private data directories so many levels below a folder whose last run began before a time.

    Args:
        folder: of one kind.
        levels: 2 for ``namespace/name``, 1 for ``name``.
        since: seconds since 1970.

    Raises:
        OSError: the folder cannot be read.
    """
    found = folder.glob("/".join(["*"] * levels))
    return [
        path
        for path in found
        if (path / "artifacts").is_dir() and (path / "artifacts").stat().st_mtime < since
    ]


def kubeconfig_variables(kubeconfig: Path) -> dict[str, str]:
    """The variables by which plugins find a kubeconfig."""
    return dict.fromkeys(_KUBECONFIG_VARIABLES, str(kubeconfig))


def run_environment(request: RunRequest, temporary: Path) -> dict[str, str]:
    """The variables of a run on top of the process environment: kubeconfig, roles path, TMPDIR.

    A role's own directory leads the roles path; for a role of a collection the inherited path
    stays behind it, so that it does not lose the project's roles.
    """
    environment = {"TMPDIR": str(temporary)}
    if request.kubeconfig is not None:
        environment |= kubeconfig_variables(request.kubeconfig)
    environment |= request.environment
    if isinstance(request.target, RoleTarget):
        paths = [str(request.target.path.parent)]
        inherited = environment.get("ANSIBLE_ROLES_PATH", os.environ.get("ANSIBLE_ROLES_PATH"))
        if inherited:
            paths.append(inherited)
        environment["ANSIBLE_ROLES_PATH"] = os.pathsep.join(paths)
    return environment


def play_of_role(target: RoleTarget) -> list[dict[str, Any]]:
    """The one play that plays a role on localhost."""
    return [
        {
            "hosts": LOCALHOST,
            "gather_facts": target.gather_facts,
            "roles": [{"name": role_name(target)}],
        }
    ]


def role_name(target: RoleTarget) -> str:
    """The name that finds the role: the FQCN when it lies in its collection, else its folder's."""
    namespace, _, rest = target.name.partition(".")
    collection, _, leaf = rest.partition(".")
    if leaf and target.path.parts[-5:] == (
        "ansible_collections",
        namespace,
        collection,
        "roles",
        leaf,
    ):
        return target.name
    return target.path.name


def interpreter() -> str:
    """The Python that runs modules on localhost."""
    virtual_env = os.environ.get("VIRTUAL_ENV")
    return str(Path(virtual_env) / "bin" / "python3") if virtual_env else sys.executable


def host_variables() -> dict[str, str]:
    """The variables of the only host of a run that brings no inventory."""
    return {"ansible_connection": "local", "ansible_python_interpreter": interpreter()}


def hosts_file() -> str:
    """The inventory of a run that brings none, for Ansible's plugin ``ini``."""
    variables = host_variables()
    python = variables["ansible_python_interpreter"].replace('"', '\\"')
    return (
        f"{LOCALHOST} ansible_connection={variables['ansible_connection']}"
        f' ansible_python_interpreter="{python}"\n'
    )


def _fill(request: RunRequest, place: Path | None) -> RunDirectory:
    root = request.directory.absolute()
    artifacts = f"{root}/artifacts/{request.ident}"
    for folder in (str(root), f"{root}/env", f"{root}/project", f"{root}/artifacts", artifacts):
        make_private(folder)
    temporary = _make_temporary(str(root), place)
    _write_environment(f"{root}/env", request, run_environment(request, temporary))
    _write_inventory(root / "inventory", request.inventory)
    _point_latest(f"{root}/artifacts", request.ident)
    playbook, generated = _playbook(root, request.target)
    return RunDirectory(root, request.ident, playbook, generated, temporary)


def _playbook(root: Path, target: PlaybookTarget | RoleTarget) -> tuple[Path, bool]:
    """The file to be played, and whether it is there for one run only."""
    if isinstance(target, PlaybookTarget):
        write_private(f"{root}/project/playbook.yaml", target.path.read_bytes())
        return target.path, False
    playbook = f"{root}/project/{uuid.uuid4().hex}"
    create_private(playbook, json.dumps(play_of_role(target)))
    return Path(playbook), True


def _make_temporary(root: str, place: Path | None) -> Path:
    """Create the folder for temporary files; what a killed operator has left there is deleted."""
    _remove_temporary(root)
    folder = tempfile.mkdtemp(prefix="run-", dir=place)
    os.symlink(folder, f"{root}/{_TEMPORARY}", target_is_directory=True)
    return Path(folder)


def _remove_temporary(root: Path | str) -> None:
    link = f"{root}/{_TEMPORARY}"
    with contextlib.suppress(OSError):
        shutil.rmtree(os.readlink(link), ignore_errors=True)
        os.unlink(link)


def _write_environment(directory: str, request: RunRequest, environment: Mapping[str, str]) -> None:
    write_private(f"{directory}/envvars", json.dumps(environment))
    keep_private(f"{directory}/settings", "{}")
    if request.command_line:
        write_private(f"{directory}/cmdline", request.command_line)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{directory}/cmdline")


def _write_inventory(directory: Path, override: Path | None) -> None:
    if override is not None and override.is_dir():
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(override, directory)
        directory.chmod(0o700)
        return
    if not make_private(str(directory)):
        _empty_but_hosts(directory)
    if override is not None:
        (directory / "hosts").unlink(missing_ok=True)
        shutil.copy(override, directory / "hosts")
        return
    keep_private(f"{directory}/hosts", hosts_file())


def _empty_but_hosts(directory: Path) -> None:
    for entry in directory.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry.name != "hosts":
            entry.unlink()


def _point_latest(artifacts: str, ident: str) -> None:
    temporary = f"{artifacts}/.{LATEST}.{uuid.uuid4().hex}"
    os.symlink(ident, temporary, target_is_directory=True)
    os.rename(temporary, f"{artifacts}/{LATEST}")
