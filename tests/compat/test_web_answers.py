# SPDX-License-Identifier: Apache-2.0
"""Plays that ask a Service by its name get the recipe's answer; what it does not know is not found."""

import json
import subprocess
import sys

from compat.web_answers import answering

ASK = """
import json, sys, urllib.request, urllib.error
try:
    with urllib.request.urlopen(sys.argv[1], timeout=20) as answer:
        print(json.dumps(json.load(answer)))
except urllib.error.HTTPError as error:
    print(error.code)
"""


def ask(url: str, variables: dict[str, str]) -> object:
    command = [sys.executable, "-c", ASK, url]
    answer = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def test_services_answer_by_name() -> None:
    with answering({r"/status/$": {"connected": True}, "other": []}) as variables:
        assert ask("http://web.compat.svc.cluster.local:24817/api/status/", variables) == {
            "connected": True
        }
        assert ask("http://other/", variables) == []
        assert ask("http://web/status/more", variables) == 404


def test_this_machine_is_asked_directly() -> None:
    """The API server, and the proxy of the runner, are no business of a recipe."""
    with (
        answering({".": "the recipe"}) as variables,
        answering({".": "a proxy"}) as runner,
    ):
        assert ask(runner["http_proxy"], variables) == "a proxy"


def test_without_answers_nothing_is_changed() -> None:
    with answering({}) as variables:
        assert variables == {}
