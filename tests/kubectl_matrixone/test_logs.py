# SPDX-License-Identifier: Apache-2.0
"""Lines of several Pods, by their time."""

import io
import re
from pathlib import Path

import pytest

from kubectl_matrixone.errors import KubectlError
from kubectl_matrixone.kubectl import Kubectl
from kubectl_matrixone.logs import Wanted, _by_time, show, shown

LINES = [
    "[pod/mo-log-0/main] 2026-11-27T06:00:01.5Z started\n",
    "[pod/mo-log-0/main] 2026-11-27T06:00:03.0Z leader elected\n",
    "[pod/mo-tp-cn-a/main] 2026-11-27T06:00:02.0Z panic: no log service\n",
    "unable to retrieve container logs for containerd://0\n",
    "[pod/mo-tp-cn-a/main] 2026-11-27T06:00:04.0Z started\n",
]


def test_lines_of_all_pods_are_ordered_by_time() -> None:
    assert list(shown(_by_time(LINES), re.compile(""))) == [
        "2026-11-27T06:00:01.5Z mo-log-0 started",
        "2026-11-27T06:00:02.0Z mo-tp-cn-a panic: no log service",
        "unable to retrieve container logs for containerd://0",
        "2026-11-27T06:00:03.0Z mo-log-0 leader elected",
        "2026-11-27T06:00:04.0Z mo-tp-cn-a started",
    ]


def test_a_pattern_is_looked_for_in_the_text_alone() -> None:
    assert list(shown(_by_time(LINES), re.compile("^started|mo-log"))) == [
        "2026-11-27T06:00:01.5Z mo-log-0 started",
        "2026-11-27T06:00:04.0Z mo-tp-cn-a started",
    ]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("follow", [False, True])
def test_many_messages_of_kubectl_do_not_stop_the_logs(tmp_path: Path, follow: bool) -> None:
    """A pipe that nobody reads holds 64 KiB."""
    program = tmp_path / "kubectl"
    program.write_text(
        "#!/bin/sh\nhead -c 300000 /dev/zero | tr '\\0' 'x' >&2\necho done\nexit 1\n"
    )
    program.chmod(0o755)
    output = io.StringIO()
    with pytest.raises(KubectlError, match="xxx"):
        show(Kubectl(program=str(program)), Wanted("mo", 10, follow=follow), output)
    assert output.getvalue() == "done\n"
