# SPDX-License-Identifier: Apache-2.0
"""Lines of several Pods, by their time."""

import re

from kubectl_matrixone.logs import _by_time, shown

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
