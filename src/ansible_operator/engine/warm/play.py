# SPDX-License-Identifier: Apache-2.0
"""One run, in a fork of the template: from the job to the exit code.

Does what ``ansible-playbook`` does with its command line, without what must happen once per
process and was done by the template (plugin loaders, the collection finder).
"""

import argparse
import copy
import faulthandler
import functools
import gc
import os
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from ansible import constants, context
from ansible.cli import CLI
from ansible.cli.arguments import option_helpers
from ansible.cli.playbook import PlaybookCLI
from ansible.executor.playbook_executor import PlaybookExecutor
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import add_all_plugin_dirs
from ansible.utils.display import Display
from ansible.vars.manager import VariableManager

from ansible_operator.engine import rundir
from ansible_operator.engine.patches import collection_paths, loaded_plays, own_hosts, run_state
from ansible_operator.engine.patches import settings as ansible_settings
from ansible_operator.engine.patches import versions as ansible_versions
from ansible_operator.engine.warm.events import EventRecorder, RecordedStream
from ansible_operator.engine.warm.job import Job

FACT_FOLDER = "fact_cache"
"""In the artifacts of a run."""

_HOSTS = "ini"
"""The inventory plugin that reads the generated hosts file."""
_NAMES_PARSERS = 3
"""The verbosity from which on Ansible prints which inventory plugins it has tried."""
_recorders: list[EventRecorder] = []


def current_recorder() -> EventRecorder | None:
    """The recorder of this process's run; None in the template."""
    return _recorders[-1] if _recorders else None


def play(job: Job, settings: ansible_settings.Settings, recorder: EventRecorder) -> int:
    """Play a job; return the exit code of ansible-playbook."""
    _recorders[:] = [recorder]
    artifacts = Path(job.root, "artifacts", job.ident)
    _take_streams(recorder, artifacts / "stderr")
    run_state.draw_ids()
    settings.apply(
        {
            "ANSIBLE_CACHE_PLUGIN": "jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(artifacts / FACT_FOLDER),
        }
        | job.environment
    )
    # Where Python, and Ansible itself, put temporary files depends on the run. The runner has made
    # the folder; if Python were to find out, it would try to write a file there.
    tempfile.tempdir = job.environment.get("TMPDIR")
    ansible_settings.change({"DEFAULT_LOCAL_TMP": tempfile.gettempdir()})
    os.chdir(Path(job.root, "project"))
    gc.set_threshold(20_000, 20, 50)
    display = Display()
    try:
        return _play(job, display)
    except KeyboardInterrupt:
        display.error("User interrupted execution")
        return 99
    except Exception as error:  # noqa: BLE001 (the boundary: everything becomes output and a code)
        ansible_versions.display_error(display, error)
        return ansible_versions.exit_code(error)
    finally:
        loaded_plays.end()


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of a command line of ansible-playbook, defaults filled in."""
    cli = PlaybookCLI(["ansible-playbook", *arguments])
    cli.init_parser()
    options: argparse.Namespace = cli.parser.parse_args(arguments)
    return cli.post_process_args(options)


def _play(job: Job, display: Display) -> int:
    options = _options(job)
    display.verbosity = options.verbosity
    run_state.set_options(options)
    display.vv(_version())
    if constants.CONFIG_FILE:
        display.v(f"Using {constants.CONFIG_FILE} as config file")
    else:
        display.v("No config file found; using defaults")
    _add_plugins_beside(job.playbook)
    loader, variables = _readers(job, display.verbosity)
    DataLoader.__init__(loader)
    loader.set_vault_secrets(ansible_versions.vault_secrets(loader, context.CLIARGS))
    run_state.set_extra_vars(loader, ansible_versions.extra_vars(job.data, job.templates))
    inventory = _inventory(job, loader, display.verbosity)
    VariableManager.__init__(
        variables,
        loader=loader,
        inventory=inventory,
        version_info=CLI.version_info(gitinfo=False),
    )
    if context.CLIARGS["flush_cache"]:
        for host in inventory.list_hosts():
            variables.clear_facts(host.get_name())
    CLI.get_host_list(inventory, context.CLIARGS["subset"])
    executor = PlaybookExecutor(
        playbooks=context.CLIARGS["args"],
        inventory=inventory,
        variable_manager=variables,
        loader=loader,
        passwords=_passwords(),
    )
    return int(executor.run())


def _readers(job: Job, verbosity: int) -> tuple[DataLoader, VariableManager]:
    """What reads files and variables, not yet initialized; that of an earlier run with its play."""
    if job.is_shared and job.is_generated and not job.command_line:
        return loaded_plays.begin(job.playbook, job.environment, verbosity)
    return loaded_plays.readers()


def _inventory(job: Job, loader: DataLoader, verbosity: int) -> InventoryManager:
    sources = context.CLIARGS["inventory"]
    is_enabled = _HOSTS in list(constants.INVENTORY_ENABLED)
    if not (job.has_own_hosts and is_enabled and verbosity < _NAMES_PARSERS):
        return InventoryManager(loader=loader, sources=sources)
    variables = rundir.host_variables()
    known = own_hosts.KnownFile(rundir.hosts_file(), rundir.LOCALHOST, variables)
    return own_hosts.OwnHosts(known, loader, sources)


def _options(job: Job) -> argparse.Namespace:
    given = shlex.split(job.command_line)
    own = ["-i", f"{job.root}/inventory"]
    if job.verbosity > 0:
        own.append("-" + "v" * job.verbosity)
    if given:
        return parse([*given, *own, job.playbook])
    # The usual case without the cost of building the parser again.
    options = copy.copy(_default_options())
    options.inventory = [f"{job.root}/inventory"]
    options.verbosity = constants.DEFAULT_VERBOSITY + max(0, job.verbosity)
    options.args = [job.playbook]
    return options


@functools.cache
def _default_options() -> argparse.Namespace:
    """The options of a command line without options; parsed once, in the template."""
    return parse(["playbook"])


@functools.cache
def _version() -> str:
    return str(option_helpers.version("ansible-playbook"))


def prepare() -> None:
    """Do in the template what all runs share."""
    _default_options()
    _version()


def _passwords() -> dict[str, Any]:
    files = (context.CLIARGS["connection_password_file"], context.CLIARGS["become_password_file"])
    connection, become = (CLI.get_password_from_file(file) if file else None for file in files)
    return {"conn_pass": connection, "become_pass": become}


def _add_plugins_beside(playbook: str) -> None:
    if collection_paths.is_in_collection(playbook):
        collection_paths.search_beside()  # a run before may have set it
        return
    folder = str(Path(playbook).parent.absolute())
    # Ansible looks for two dozen folders, and where it finds a role's playbook there is none.
    if any(entry.is_dir() for entry in os.scandir(folder)):
        add_all_plugin_dirs(folder.encode())
    collection_paths.search_beside(folder)


def _take_streams(recorder: EventRecorder, stderr: Path) -> None:
    """Record what is printed; what bypasses Python goes to the artifact ``stderr``."""
    descriptor = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (descriptor, 1), (descriptor, 2)):
        os.dup2(source, target)
    os.close(descriptor)
    os.close(null)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stderr = RecordedStream(recorder)
    faulthandler.enable(2)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
