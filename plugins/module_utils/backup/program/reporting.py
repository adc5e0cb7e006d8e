# SPDX-License-Identifier: Apache-2.0
"""Write results where the operator sees them: into a ConfigMap that outlives the Job."""

from __future__ import annotations

import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ...api.timestamps import timestamp_now
from ..task import tasks
from ..task.tasks import Amount, Phase, Report, Result, Step

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SECONDS: Final = 10.0
"""For one request."""
_INTERVAL: Final = 5.0
"""Seconds between two results while the task runs."""
_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 1.0
Send = Callable[[str], None]
"""Stores a result; raises OSError when it cannot."""


class Reporter:
    """Keeps the result of a task up to date.

    Args:
        send: stores it.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sent_at = -_INTERVAL
        self._result = Result(Phase.RUNNING, started_at=timestamp_now())

    @property
    def result(self) -> Result:
        """The last one."""
        return self._result

    def running(self, step: Step, done: Amount, total: Amount) -> None:
        """Report progress, a new step at once and else from time to time.

        A report that is lost is followed by another; only the last one must arrive.
        """
        is_new = step != self._result.step
        self._result = replace(self._result, step=step, done=done, total=total)
        if is_new or time.monotonic() - self._sent_at >= _INTERVAL:
            self._sent_at = time.monotonic()
            try:
                self._send(tasks.result_to_json(self._result))
            except OSError as error:
                log(f"cannot report progress: {error}")

    def end(self, result: Result) -> bool:
        """Report the end, with some attempts, and tell whether it arrived.

        Args:
            result: phase, and what belongs to it; step, amounts and start are added.
        """
        last = self._result
        self._result = replace(
            result, step=last.step, done=last.done, total=last.total,
            started_at=last.started_at, ended_at=timestamp_now(),
        )  # fmt: skip
        text = tasks.result_to_json(self._result)
        pause = _FIRST_PAUSE
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(pause)
                pause *= 2
            try:
                self._send(text)
            except OSError as error:
                log(f"cannot report the end: {error}")
            else:
                return True
        return False


def to_config_map(report: Report, environment: Mapping[str, str], account: Path = ACCOUNT) -> Send:
    """Return what writes a result into a ConfigMap, with the rights of the Pod.

    Args:
        report: names the ConfigMap.
        environment: with the address of the API server, as every Pod has it.
        account: folder with the token, which is renewed there, and the certificate authority.
    """
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"[{host}]" if ":" in host else host
    url = (
        f"https://{server}:{port}/api/v1/namespaces/{quote(report.namespace, safe='')}"
        f"/configmaps/{quote(report.name, safe='')}"
    )

    def send(text: str) -> None:
        trust = ssl.create_default_context(cafile=str(account / "ca.crt"))
        request = urllib.request.Request(
            url,
            method="PATCH",
            data=json.dumps({"data": {tasks.RESULT_KEY: text}}).encode(),
            headers={
                "Content-Type": "application/merge-patch+json",
                "Authorization": f"Bearer {(account / 'token').read_text().strip()}",
            },
        )
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=trust))
        with opener.open(request, timeout=_SECONDS) as answer:
            answer.read()

    return send


def to_output(text: str) -> None:
    """Write a result as a line of standard output, for those who run the program themselves."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def log(text: str) -> None:
    """Write a line of standard error, which the log of the Pod has."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
