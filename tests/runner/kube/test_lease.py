# SPDX-License-Identifier: Apache-2.0
"""One of several processes leads, and a clean stop hands over at once."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from ansible_operator import metrics
from ansible_operator.errors import ConfigError, KubeError, LeadershipLostError
from ansible_operator.kube.lease import LeaderElection, LeaseSettings, election_namespace
from ansible_operator.kube.recorder import EventRecorder

QUICK = {"duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.4}


def settings(namespace, **changes):
    return LeaseSettings(name="op", namespace=namespace, **{**QUICK, **changes})


def lease_path(namespace):
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/op"


@pytest.mark.api
async def test_the_first_leads_and_records_an_event(client, fake_namespace):
    recorder = EventRecorder(client, "ansible-operator")
    writing = asyncio.create_task(recorder.run())
    election = LeaderElection(client, settings(fake_namespace), recorder)
    await asyncio.wait_for(election.acquire(), 10)
    lease = await client.request("GET", lease_path(fake_namespace))
    spec = lease["spec"]
    assert spec["holderIdentity"] == election.settings.identity
    assert spec["leaseDurationSeconds"] == 3
    assert spec["leaseTransitions"] == 0
    assert metrics.REGISTRY.get_sample_value("leader_election_master_status", {"name": "op"}) == 1
    await asyncio.wait_for(recorder.flush(), 5)
    events = await client.request("GET", f"/api/v1/namespaces/{fake_namespace}/events")
    [event] = events["items"]
    assert event["reason"] == "LeaderElection"
    assert event["message"] == f"{election.settings.identity} became leader"
    assert event["involvedObject"]["kind"] == "Lease"
    writing.cancel()


@pytest.mark.api
async def test_a_holder_keeps_the_lease_while_it_renews(client, fake_namespace):
    first = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(first.acquire(), 10)
    second = LeaderElection(client, settings(fake_namespace))
    holding = asyncio.create_task(first.hold())
    waiting = asyncio.create_task(second.acquire())
    await asyncio.sleep(4.5)  # longer than the lease lasts
    assert not holding.done()
    assert not waiting.done()
    holding.cancel()
    released = time.monotonic()
    await first.release()
    await asyncio.wait_for(waiting, 3)
    assert time.monotonic() - released < 3
    lease = await client.request("GET", lease_path(fake_namespace))
    assert lease["spec"]["leaseTransitions"] == 1


@pytest.mark.api
async def test_a_lease_is_released_after_a_renewal_was_cut_off(client, fake_namespace):
    """The server has renewed, the holder has not heard of it: its version is out of date."""
    election = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(election.acquire(), 10)
    renewal = {"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}
    await client.request(
        "PATCH",
        lease_path(fake_namespace),
        body=renewal,
        content_type="application/merge-patch+json",
    )
    await election.release()
    lease = await client.request("GET", lease_path(fake_namespace))
    assert not lease["spec"].get("holderIdentity")


class LosingClient:
    """Hands requests on, but the next ``losses`` of them get no answer."""

    def __init__(self, client):
        self.client, self.losses = client, 0

    async def request_object(self, *arguments, **options):
        if self.losses:
            self.losses -= 1
            await asyncio.sleep(60)
        return await self.client.request_object(*arguments, **options)


@pytest.mark.api
async def test_one_request_without_an_answer_does_not_cost_the_lease(client, fake_namespace):
    losing = LosingClient(client)
    election = LeaderElection(losing, settings(fake_namespace))
    await asyncio.wait_for(election.acquire(), 10)
    holding = asyncio.create_task(election.hold())
    losing.losses = 1
    await asyncio.sleep(4)  # twice the deadline
    assert not losing.losses
    assert not holding.done()
    holding.cancel()
    await election.release()


@pytest.mark.api
async def test_a_dead_holder_is_replaced_when_its_time_is_over(client, fake_namespace):
    first = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(first.acquire(), 10)
    second = LeaderElection(client, settings(fake_namespace))
    started = time.monotonic()
    await asyncio.wait_for(second.acquire(), 10)
    assert time.monotonic() - started >= QUICK["duration"]


@pytest.mark.api
async def test_a_taken_lease_ends_the_holder(client, fake_namespace):
    first = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(first.acquire(), 10)
    holding = asyncio.create_task(first.hold())
    patch = {"spec": {"holderIdentity": "thief"}}
    await client.request(
        "PATCH",
        lease_path(fake_namespace),
        body=patch,
        content_type="application/merge-patch+json",
    )
    with pytest.raises(LeadershipLostError, match="leader election lost"):
        await asyncio.wait_for(holding, 5)
    await first.release()
    lease = await client.request("GET", lease_path(fake_namespace))
    assert lease["spec"]["holderIdentity"] == "thief"


@pytest.mark.api
async def test_a_foreign_label_does_not_end_the_holder(client, fake_namespace):
    first = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(first.acquire(), 10)
    holding = asyncio.create_task(first.hold())
    await client.request(
        "PATCH",
        lease_path(fake_namespace),
        body={"metadata": {"labels": {"a": "b"}}},
        content_type="application/merge-patch+json",
    )
    await asyncio.sleep(1.5)
    assert not holding.done()
    holding.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await holding
    lease = await client.request("GET", lease_path(fake_namespace))
    assert lease["metadata"]["labels"] == {"a": "b"}


@pytest.mark.api
async def test_an_unreachable_server_ends_the_holder_in_time(client, fake_namespace):
    first = LeaderElection(client, settings(fake_namespace))
    await asyncio.wait_for(first.acquire(), 10)
    await client.close()
    started = time.monotonic()
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(first.hold(), 10)
    assert time.monotonic() - started < QUICK["duration"]


async def test_a_lease_lasts_from_the_moment_its_renewal_was_sent():
    """Others count from what the server stored, which may be long before its answer arrived."""
    deadline, slow = 3.0, 1.4
    sent = []

    class Server:
        """Answers the first renewal late, and none after it."""

        async def request_object(self, method, path, *, body=None, timeout=0.0):
            if method == "GET":
                return {"metadata": {}, "spec": {}}
            sent.append(time.monotonic())
            if len(sent) == 2:
                await asyncio.sleep(slow)
            if len(sent) > 2:
                raise KubeError("the server is gone")
            return body

    election = LeaderElection(
        Server(), settings("here", duration=9.0, renew_deadline=deadline, retry_period=0.2)
    )
    await election.acquire()
    with pytest.raises(LeadershipLostError):
        await election.hold()
    assert time.monotonic() - sent[1] == pytest.approx(deadline, abs=slow / 2)


@pytest.mark.api
async def test_two_processes_hand_over_in_time(fake_testbed, fake_namespace, tmp_path):
    """With the default periods: from SIGTERM to the successor's first moment under 3 s."""
    script = tmp_path / "candidate.py"
    script.write_text(
        textwrap.dedent(
            """
            import asyncio, signal, sys
            from ansible_operator.kube.access import load_access
            from ansible_operator.kube.client import HttpClient
            from ansible_operator.kube.lease import LeaderElection, LeaseSettings

            async def main():
                stop = asyncio.Event()
                asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
                async with HttpClient(load_access()) as client:
                    settings = LeaseSettings(name="op", namespace=sys.argv[1])
                    election = LeaderElection(client, settings)
                    await election.acquire()
                    print("leading", flush=True)
                    holding = asyncio.create_task(election.hold())
                    await stop.wait()
                    holding.cancel()
                    await election.release()

            asyncio.run(main())
            """
        )
    )

    def start():
        return subprocess.Popen(
            [sys.executable, str(script), fake_namespace],
            env={**os.environ, "KUBECONFIG": str(fake_testbed.kubeconfig)},
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for_lead(process):
        for line in process.stdout:
            if line == "leading\n":
                return time.monotonic()
        raise AssertionError

    processes = [start()]
    try:
        await asyncio.wait_for(asyncio.to_thread(wait_for_lead, processes[0]), 20)
        processes.append(start())
        await asyncio.sleep(3)
        stopped = time.monotonic()
        processes[0].send_signal(signal.SIGTERM)
        leading = await asyncio.wait_for(asyncio.to_thread(wait_for_lead, processes[1]), 20)
        assert leading - stopped < 3
        assert processes[0].wait(5) == 0
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"name": ""}, "LeaderElectionID must be configured"),
        ({"renew_deadline": 15.0}, "renew deadline"),
        ({"retry_period": 11.0}, "retry period"),
        ({"retry_period": 0.0}, "retry period"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, text):
    good = LeaseSettings(name="op", namespace="n")
    with pytest.raises(ConfigError, match=text):
        dataclasses.replace(good, **changes)


def test_identities_differ():
    one, other = (LeaseSettings(name="op", namespace="n") for _ in range(2))
    assert one.identity != other.identity
    assert "_" in one.identity


def test_the_namespace_comes_from_the_flag_or_the_pod(tmp_path):
    assert election_namespace("flag", tmp_path) == "flag"
    with pytest.raises(ConfigError, match="not running in-cluster"):
        election_namespace("", tmp_path)
    (tmp_path / "namespace").write_text("operators\n")
    assert election_namespace("", tmp_path) == "operators"
