# SPDX-License-Identifier: Apache-2.0
"""Programs that are asked to end while they wait for a thread, as for a build."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from testbed.interrupts import end_as_by_ctrl_c
end_as_by_ctrl_c()
stop = threading.Event()
try:
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(stop.wait, 20)]
        try:
            print("waiting", flush=True)
            list(as_completed(waiting))
        finally:
            stop.set()
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(
    "numbers", ["INT", "TERM", "INT TERM", "TERM INT", "INT INT INT TERM TERM"]
)
def test_any_number_of_signals_is_one_interrupt(numbers: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        for number in numbers.split():
            program.send_signal(signal.Signals[f"SIG{number}"])
        assert program.communicate(timeout=20)[1] == ""
    assert program.returncode == 130
