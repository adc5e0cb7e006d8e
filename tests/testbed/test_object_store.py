# SPDX-License-Identifier: Apache-2.0
"""The S3 server serves what S3 clients ask, alone and as an add-on of a test bed."""

import hashlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import testbed
from testbed import object_store
from testbed.errors import TestBedError
from testbed.object_store import ObjectStore
from testbed.processes import find
from tests.testbed.test_command_line import run


def curl(
    store: ObjectStore, path: str, put: str | None = None, secret: str | None = None
) -> tuple[int, str]:
    """Send a signed request, one that puts an object if asked to; return status and content."""
    # This curl does not add the header that S3 requires.
    digest = hashlib.sha256((put or "").encode()).hexdigest()
    options = ["--header", f"x-amz-content-sha256: {digest}"]
    options += ["--request", "PUT", "--data-binary", put] if put else []
    trust = ["--cacert", str(store.authority)] if store.authority else []
    done = subprocess.run(
        [
            *("curl", "--silent", "--show-error", "--max-time", "20", *trust),
            *("--aws-sigv4", f"aws:amz:{store.region}:s3", "--write-out", "\n%{http_code}"),
            *("--user", f"{store.access_key}:{secret or store.secret_key}", *options),
            f"{store.endpoint}/{path}",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    content, _, status = done.stdout.rpartition("\n")
    return int(status), content


@pytest.mark.rpc
@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_objects_are_files(tmp_path: Path, tls: bool) -> None:
    """What a client puts is a file below the bucket's folder, and what is there can be got."""
    with object_store.serving(tmp_path, tls=tls) as store:
        bucket = store.make_bucket("one")
        assert store.endpoint.startswith("https:" if tls else "http:")
        assert curl(store, "one/a/b", put="content")[0] == 200
        assert (bucket / "a" / "b").read_text() == "content"
        (bucket / "c").write_text("another")
        assert curl(store, "one/c") == (200, "another")
        assert "<Key>a/b</Key>" in curl(store, "one?list-type=2")[1]
        assert curl(store, "two/c")[0] == 404
        assert curl(store, "one/c", secret="wrong")[0] == 403
    assert not store.answers()


@pytest.mark.rpc
def test_servers_know_only_their_own_buckets(tmp_path: Path) -> None:
    with (
        object_store.serving(tmp_path / "a") as one,
        object_store.serving(tmp_path / "b") as two,
    ):
        one.make_bucket("mine")
        assert curl(one, "mine?list-type=2")[0] == 200
        assert curl(two, "mine?list-type=2")[0] == 404


def test_short_names_are_refused(tmp_path: Path) -> None:
    """The server would answer 400 to everything about such a bucket."""
    store = ObjectStore("127.0.0.1", 1, tmp_path, "key", "secret")
    with pytest.raises(TestBedError, match="at least 3 letters"):
        store.make_bucket("mo")


@pytest.mark.api
def test_add_on_goes_with_its_test_bed(own_state: Path) -> None:
    """It is added by a command, comes back when it was killed, and leaves nothing behind."""
    bed = testbed.up("stored")
    output, _ = run("s3", "--name=stored", "--bucket=one")
    store = testbed.get_object_store("stored")
    assert output.splitlines() == [f"export {k}={v}" for k, v in store.variables().items()]
    assert curl(store, "one/a", put="content")[0] == 200
    process = find(bed.places, object_store.PROCESS)
    assert process
    os.kill(process.pid, signal.SIGKILL)
    while process.alive():
        time.sleep(0.01)
    assert not testbed.status("stored").healthy
    testbed.up("stored")
    assert curl(store, "one/a") == (200, "content")
    assert testbed.add_object_store("stored", ["two"]) == store
    assert curl(store, "two?list-type=2")[0] == 200
    with pytest.raises(TestBedError, match="keep to it"):
        testbed.add_object_store("stored", tls=True)
    testbed.down("stored")
    assert not store.answers()
    assert not own_state.exists()


@pytest.mark.api
def test_test_bed_without_it_says_so(own_state: Path) -> None:
    testbed.up("plain")
    with pytest.raises(testbed.NotFoundError, match="`testbed s3` adds one"):
        testbed.get_object_store("plain")


def test_missing_test_bed_is_one_line(own_state: Path) -> None:
    assert "no test bed is called 'none'" in run("s3", "--name=none", code=1)[1]
