# SPDX-License-Identifier: Apache-2.0
"""What tests of several packages need of the test bed's API server."""

from collections.abc import AsyncIterator

import pytest

from ansible_operator.kube.access import from_kubeconfig
from ansible_operator.kube.client import HttpClient


@pytest.fixture
async def client(fake_testbed) -> AsyncIterator[HttpClient]:
    async with HttpClient(from_kubeconfig([fake_testbed.kubeconfig])) as client:
        yield client
