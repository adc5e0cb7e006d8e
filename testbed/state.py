# SPDX-License-Identifier: Apache-2.0
"""The components of a test bed, recorded before any of them exists.

``down`` works from this record alone, so it also clears what an interrupted ``up`` began.
"""

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from testbed.errors import NotFoundError, TestBedError
from testbed.places import Places, state_root

NodeKind = Literal["fake", "real"]
Phase = Literal["starting", "ready", "stopping"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class State:
    """The record of one test bed.

    Attributes:
        name: chosen by the user; also the folder's name.
        identity: random; marks every process of this test bed in its environment.
        nodes: what kind of nodes it has.
        node_count: how many of them.
        phase: ``ready`` once ``up`` has ended well.
        address: where the API server listens.
        subnet: second octet of the 10.x.0.0/16 that real nodes, pods and Services use.
        ports: TCP ports on the host by purpose.
        audit: whether the API server writes an audit log.
        binaries: absolute paths by name.
    """

    name: str
    nodes: NodeKind
    node_count: int
    address: str
    subnet: int
    ports: dict[str, int]
    audit: bool = False
    phase: Phase = "starting"
    identity: str = field(default_factory=lambda: secrets.token_hex(4))
    binaries: dict[str, str] = field(default_factory=dict)

    @property
    def bridge(self) -> str:
        """Name of the host's network interface to the real nodes (at most 15 characters)."""
        return f"tb-{self.identity}"

    @property
    def cgroup(self) -> str:
        """Name of the control group below which the real nodes' pods live."""
        return f"testbed-{self.identity}"

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://{self.address}:{self.ports['apiserver']}"

    @property
    def node_names(self) -> list[str]:
        """Names of the nodes, in order."""
        return [f"node-{index}" for index in range(self.node_count)]


def check_name(name: str) -> None:
    """Refuse a name that could not be a folder or part of an object's name."""
    if not _NAME.fullmatch(name):
        raise TestBedError(
            f"{name!r} cannot name a test bed: use up to 40 lower-case letters, digits and dashes"
        )


def save(state: State) -> State:
    """Write the record so that a reader sees the old or the new one, never a part."""
    path = Places.of(state.name).state
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(asdict(state), indent=2) + "\n")
    draft.replace(path)
    return state


def advance(state: State, phase: Phase) -> State:
    """Record a new phase."""
    return save(replace(state, phase=phase))


def read(path: Path) -> State:
    """Read one record.

    Raises:
        TestBedError: the file is not a record of this version.
    """
    try:
        content: dict[str, Any] = json.loads(path.read_text())
        # A newer version may have written more: what is known here is enough to take it down.
        return State(**{key: content[key] for key in content.keys() & State.__slots__})
    except (ValueError, TypeError, AttributeError) as error:
        raise TestBedError(f"{path} cannot be read ({error}); check it and remove it") from error


def load(name: str) -> State:
    """Return the record of the test bed called ``name``.

    Raises:
        NotFoundError: there is none.
    """
    check_name(name)
    try:
        return read(Places.of(name).state)
    except FileNotFoundError:
        raise NotFoundError(f"no test bed is called {name!r}; `testbed list` shows them") from None


def load_all() -> list[State]:
    """Return the records of all test beds, by name; unreadable ones are left out."""
    found = []
    for path in sorted(state_root().glob("*/state.json")):
        try:
            found.append(read(path))
        except FileNotFoundError:  # taken down meanwhile
            continue
        except TestBedError:  # must not keep others from starting; `load` reports it
            continue
    return found
