# SPDX-License-Identifier: Apache-2.0
"""The parts of the test bed that need no cluster."""

import hashlib
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from testbed import (
    BuildError,
    NotFoundError,
    RequirementError,
    StartError,
    TestBedError,
    building,
    kernel_limits,
    toolchain,
)
from testbed import state as records
from testbed.images import oci
from testbed.images.oci import Entry, Image
from testbed.locks import locked
from testbed.places import Places
from testbed.ports import choose_ports, choose_subnet, is_free
from testbed.processes import Launcher, find, kill_all, marked
from testbed.quantities import parse_quantity
from testbed.state import State
from tests.support.ports import free_port


def a_state(name: str) -> State:
    return State(name, "fake", 3, "127.0.0.1", 120, {"apiserver": 21000})


def test_image_archive_is_consistent(tmp_path: Path) -> None:
    """Every digest and size in an archive is that of what it names; names and links are kept."""
    source = tmp_path / "program"
    source.write_bytes(b"#!/bin/sh\n")
    entries = [
        Entry("/bin/program", source=source),
        Entry("/bin/alias", link="program"),
        Entry("/etc/deep/file", content=b"text", mode=0o644),
        Entry("/tmp", mode=0o1777),
    ]
    image = Image("docker.io/library/thing:1", entries, entrypoint=["/bin/program"], user="65532")
    shutil.unpack_archive(oci.write(image, tmp_path / "out" / "image.tar"), tmp_path / "image")

    def blob(descriptor: dict[str, object]) -> bytes:
        digest = str(descriptor["digest"]).removeprefix("sha256:")
        content = (tmp_path / "image" / "blobs" / "sha256" / digest).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest
        assert len(content) == descriptor["size"]
        return content

    index = json.loads((tmp_path / "image" / "index.json").read_text())["manifests"][0]
    assert index["annotations"]["io.containerd.image.name"] == image.name
    manifest = json.loads(blob(index))
    config = json.loads(blob(manifest["config"]))
    assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    assert config["config"]["Entrypoint"] == ["/bin/program"]
    assert config["config"]["User"] == "65532"
    with tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0]))) as layer:
        members = {member.name: member for member in layer.getmembers()}
    assert list(members) == sorted(members), "parents come before what they hold"
    assert set(members) == {
        "bin", "bin/alias", "bin/program", "etc", "etc/deep", "etc/deep/file", "tmp"
    }  # fmt: skip
    assert members["bin/alias"].linkname == "program"
    assert members["tmp"].mode == 0o1777
    assert members["bin/program"].mode == 0o755
    assert all(member.uid == 0 and member.mtime == 0 for member in members.values())


def test_image_archive_is_reproducible(tmp_path: Path) -> None:
    """The same content gives the same bytes, whatever order it is named in."""
    entries = [Entry("/a", content=b"1"), Entry("/b", content=b"2")]
    one = oci.write(Image("x/y:1", entries), tmp_path / "one.tar")
    two = oci.write(Image("x/y:1", entries[::-1]), tmp_path / "two.tar")
    assert one.read_bytes() == two.read_bytes()


def test_failed_image_leaves_nothing(tmp_path: Path) -> None:
    """An archive appears whole or not at all."""
    image = Image("x/y:1", [Entry("/a", source=tmp_path / "missing")])
    with pytest.raises(FileNotFoundError):
        oci.write(image, tmp_path / "out" / "image.tar")
    assert list((tmp_path / "out").iterdir()) == []


def test_state_is_read_back(own_state: Path) -> None:
    """A record comes back as it was, and marks that belong to it stay the same."""
    state = records.save(a_state("one"))
    assert records.load("one") == state
    assert records.advance(state, "ready") == replace(state, phase="ready")
    assert [other.name for other in records.load_all()] == ["one"]
    assert len(state.bridge) <= 11, "room for a suffix within the 15 characters of an interface"


def test_missing_and_broken_state(own_state: Path) -> None:
    """An unknown test bed and an unreadable record are told apart."""
    with pytest.raises(NotFoundError, match="no test bed is called 'nobody'"):
        records.load("nobody")
    records.save(a_state("bad"))
    Places.of("bad").state.write_text("{")
    with pytest.raises(TestBedError, match="cannot be read"):
        records.load("bad")
    assert records.load_all() == [], "others can still come up"


def test_newer_state_can_be_read(own_state: Path) -> None:
    """A record with more in it than this version knows is good enough to work with."""
    state = records.save(a_state("newer"))
    path = Places.of("newer").state
    path.write_text(json.dumps({**json.loads(path.read_text()), "future": 1}))
    assert records.load("newer") == state


@pytest.mark.parametrize("name", ["", "Upper", "../up", "a/b", "-a", "a" * 41, "a b"])
def test_bad_names_are_refused(name: str) -> None:
    """A name never leads out of the state folder."""
    with pytest.raises(TestBedError, match="cannot name a test bed"):
        records.check_name(name)


def test_ports_are_free_and_not_reserved() -> None:
    """Chosen ports are distinct, nobody listens there, nobody has reserved them."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not is_free(listener.getsockname()[1])
    reserved = set(range(21000, 31990))
    chosen = choose_ports(["a", "b"], reserved)
    assert len(set(chosen.values())) == 2
    assert not set(chosen.values()) & reserved
    with pytest.raises(RequirementError, match="no free TCP port"):
        choose_ports(["a"], range(21000, 32000))


def test_a_test_gets_each_port_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where chance would choose it again before anybody listens there."""
    monkeypatch.setattr("testbed.ports._shuffled", lambda first, last: list(range(first, last + 1)))
    assert free_port() != free_port()


def test_subnet_avoids_routes() -> None:
    """A network that a route covers, wholly or in part, is never chosen."""
    header = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
    default = "eth0 00000000 010200C0 0003 0 0 0 00000000 0 0 0\n"
    part_of_121 = "tb0 0005790A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n"
    all_but_two = set(range(120, 220)) - {120, 121}
    assert choose_subnet(all_but_two, header + default + part_of_121) == 120
    whole_of_ten = "eth1 0000000A 00000000 0001 0 0 0 000000FF 0 0 0\n"
    with pytest.raises(RequirementError, match="no free network"):
        choose_subnet(set(), header + whole_of_ten)


def test_kernel_limit_is_put_back(own_state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old value returns with the last test bed, and a value of somebody else's stays."""
    setting = own_state / "setting"
    own_state.mkdir()
    monkeypatch.setattr(kernel_limits, "_SETTING", setting)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for meanwhile, afterwards in ((None, "128"), ("4096", "4096")):
        setting.write_text("128\n")
        kernel_limits.raise_limits()
        kernel_limits.raise_limits()
        assert int(setting.read_text()) > 1000
        if meanwhile:
            setting.write_text(meanwhile)
        kernel_limits.restore_limits()
        assert setting.read_text().strip() == afterwards
    assert list(own_state.iterdir()) == [setting]


@pytest.mark.parametrize(
    ("text", "value"),
    [("10", 10), ("1Ki", 1024), ("1.5Gi", 3 << 29), ("2k", 2000), ("5e3", 5000), ("1500m", "1.5")],
)
def test_quantities(text: str, value: int | str) -> None:
    """Kubernetes' ways to write a number are understood exactly."""
    assert parse_quantity(text) == Decimal(value)


@pytest.mark.parametrize("text", ["", "Gi", "1 Gi", "1ki", "abc"])
def test_bad_quantities(text: str) -> None:
    """What is no quantity is refused."""
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


def test_lock_keeps_others_out_and_leaves_no_file(tmp_path: Path) -> None:
    """A second holder waits for its time and is told; afterwards the lock file is gone."""
    lock = tmp_path / "lock"
    with locked(lock, timeout=1):
        code = (
            "import sys; from pathlib import Path; from testbed.locks import locked\n"
            "with locked(Path(sys.argv[1]), timeout=0.2): pass"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, lock], capture_output=True, text=True, check=False
        )
        assert "another testbed command holds" in other.stderr
    assert not lock.exists()
    with locked(lock, timeout=1):
        assert lock.exists()


def test_process_is_recorded_marked_and_ended(tmp_path: Path) -> None:
    """A started process is found by record and by mark, is not started twice, and ends."""
    places = Places(tmp_path)
    launcher = Launcher(places, f"identity-{os.getpid()}")
    sleeper = launcher.start("sleeper", ["/bin/sleep", "60"])
    try:
        assert sleeper.alive()
        assert launcher.start("sleeper", ["/bin/sleep", "60"]) == sleeper
        assert marked(launcher.identity) == [sleeper.pid]
        assert os.getpgid(sleeper.pid) == sleeper.pid
        (places.processes / "sleeper.json").unlink()
    finally:
        kill_all(places, launcher.identity)
    assert not sleeper.alive()


def test_pid_alone_is_not_trusted(tmp_path: Path) -> None:
    """A record whose pid now belongs to another process never gets that process killed."""
    places = Places(tmp_path)
    launcher = Launcher(places, "somebody-else")
    stranger = subprocess.Popen(["/bin/sleep", "60"])
    try:
        places.processes.mkdir()
        record = {"name": "old", "pid": stranger.pid, "start_time": 1, "boot": "earlier"}
        (places.processes / "old.json").write_text(json.dumps(record))
        kill_all(places, launcher.identity)
        assert stranger.poll() is None
        old = find(places, "old")
        assert old
        assert not old.alive()
    finally:
        stranger.send_signal(signal.SIGKILL)
        stranger.wait()


def test_missing_program_is_an_error(tmp_path: Path) -> None:
    """A program that cannot be executed is named at once."""
    with pytest.raises(StartError, match=r"ghost did not start: .*No such file"):
        Launcher(Places(tmp_path), "ghost").start("ghost", ["/nonexistent/ghost"])


def fake_program(folder: Path, name: str, says: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_given_programs_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS comes before PATH; a Kubernetes program that is too old is not used."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    own_path = os.environ["PATH"]
    assets, path = tmp_path / "assets", tmp_path / "path"
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(assets))
    monkeypatch.setenv("PATH", f"{path}:{own_path}")
    etcd = fake_program(assets, "etcd", "etcd Version: 3.7.0")
    fake_program(path, "etcd", "etcd Version: 3.4.0")
    fake_program(assets, "kubectl", "Client Version: v1.20.5")
    kubectl = fake_program(path, "kubectl", "Client Version: v1.36.1")
    assert toolchain.locate(["etcd", "kubectl"]) == ({"etcd": etcd, "kubectl": kubectl}, [])


def test_program_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing program is built with Go into the cache, whole, and found there afterwards."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    lines: list[str] = []
    first = building.provide(["node-init"], lines.append)["node-init"]
    assert [line.split()[0] for line in lines] == ["building", "built"]
    assert first.is_relative_to(tmp_path / "bin")
    began = time.time_ns()
    assert building.provide(["node-init"], lines.append)["node-init"] == first
    assert first.stat().st_mtime_ns < began
    assert len(lines) == 2
    assert not list((tmp_path / "building").iterdir())


def test_failed_build_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler's words are in the error, and the cache holds nothing half-made."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    group = toolchain.group_of("node-init")
    sources = tmp_path / "binaries" / "node-init"
    sources.mkdir(parents=True)
    (sources / "go.mod").write_text((group.folder / "go.mod").read_text())
    (sources / "main.go").write_text("package main\n\nfunc main() { nonsense() }\n")
    monkeypatch.setattr(toolchain, "SOURCE", tmp_path)
    with pytest.raises(BuildError, match="undefined: nonsense"):
        building.provide(["node-init"])
    assert not list((tmp_path / "cache" / "bin").glob("*/*"))
