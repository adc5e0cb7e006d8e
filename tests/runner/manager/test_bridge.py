# SPDX-License-Identifier: Apache-2.0
"""What the proxy reports to the loop, on a real API server."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.engine import make_engine
from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient
from ansible_operator.kube.discovery import DiscoveryMapper
from ansible_operator.kube.interface import GroupVersionKind
from ansible_operator.kube.recorder import EventRecorder
from ansible_operator.kube.shared_informers import SharedInformers
from ansible_operator.loop.control import ControlLoop, Dependencies, Plan
from ansible_operator.loop.settings import RunSettings
from ansible_operator.manager.bridge import Bridge
from ansible_operator.serve.interface import Owner
from ansible_operator.watches import KindName, PlayPath, Watch
from testbed.bed import TestBed

pytestmark = pytest.mark.api
KIND = KindName("", "v1", "ConfigMap")


async def test_a_dependent_is_created_after_its_kind_is_known(
    fake_testbed: TestBed, fake_namespace: str, tmp_path: Path
) -> None:
    watch = Watch(kind=KIND, play=PlayPath(playbook="/p"))
    plan = Plan(watch=watch, limit=1, period=0, verbosity=0)
    client = HttpClient(from_kubeconfig([fake_testbed.kubeconfig]))
    mapper = DiscoveryMapper(client)
    async with client, SharedInformers(client, mapper, (fake_namespace,)) as informers:
        bridge: Any = Bridge(True, tmp_path)
        deps = Dependencies(
            client=client,
            mapper=mapper,
            informers=informers,
            engine=make_engine("warm"),
            kubeconfig_for=bridge.kubeconfig_for,
            recorder=EventRecorder(client, "test"),
            settings=RunSettings(run_root=tmp_path, cluster="https://here"),
        )
        bridge.loop = ControlLoop(deps, [plan], 1)
        await asyncio.wait_for(bridge.loop.synchronize(), 20)
        secrets = await mapper.by_kind(GroupVersionKind("", "v1", "Secret"))
        assert secrets is not None
        owner = Owner(GroupVersionKind(*KIND), "owner", fake_namespace, "uid")
        await bridge.add_dependent(owner, secrets, False)
        informer = informers.peek(secrets)
        assert informer is not None
        assert informer.synced.is_set(), "changes from now on are changes, not part of a creation"
