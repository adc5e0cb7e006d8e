# SPDX-License-Identifier: Apache-2.0
"""The shared test bed with fake nodes does what a cluster does."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from testbed import KubectlError, TestBed

pytestmark = pytest.mark.api


def eventually(check: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if check():
            return True
        time.sleep(0.1)
    return check()


def get(bed: TestBed, *args: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(bed.kubectl("get", *args, "-o", "json"))
    return answer


def test_rbac_decides(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A ServiceAccount without a role may do nothing."""
    account = f"--as=system:serviceaccount:{fake_namespace}:default"
    with pytest.raises(KubectlError, match="forbidden"):
        fake_testbed.kubectl("get", "pods", "-n", fake_namespace, account)


def test_service_account_token_is_accepted(fake_testbed: TestBed, fake_namespace: str) -> None:
    """A token of a ServiceAccount authenticates as that account."""
    token = fake_testbed.kubectl("create", "token", "default", "-n", fake_namespace).strip()
    answer = fake_testbed.kubectl(
        "auth",
        "whoami",
        "-o",
        "json",
        "--kubeconfig=/dev/null",
        f"--server={fake_testbed.server}",
        "--insecure-skip-tls-verify",
        f"--token={token}",
    )
    user = json.loads(answer)["status"]["userInfo"]["username"]
    assert user == f"system:serviceaccount:{fake_namespace}:default"
