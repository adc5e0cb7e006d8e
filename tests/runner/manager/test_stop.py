# SPDX-License-Identifier: Apache-2.0
"""The first signal ends the process, whoever reads its log."""

import os
import subprocess
import sys

STOPS = """
import asyncio, os, signal
from ansible_operator.logs import LogSettings, configure
from ansible_operator.manager.stop import Stop

async def main():
    stop = Stop()
    stop.install()
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(stop.requested.wait(), 5)

configure(LogSettings())
asyncio.run(main())
os._exit(0)
"""


def test_a_signal_stops_a_process_whose_log_nobody_reads() -> None:
    """As that of `ansible-operator run | head`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [sys.executable, "-c", STOPS]
        ended = subprocess.run(command, stdout=writer, stderr=writer, timeout=60, check=False)
    finally:
        os.close(writer)
    assert ended.returncode == 0
