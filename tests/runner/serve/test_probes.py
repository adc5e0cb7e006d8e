# SPDX-License-Identifier: Apache-2.0
"""Probes tell the truth: alive is not ready."""

import aiohttp
import pytest

from ansible_operator.serve.probes import Probes


@pytest.fixture
async def probe():
    state = {"caches": "2 kinds are not listed yet", "engine": "warming up", "speed": ""}
    checks = {name: (lambda name=name: state[name]) for name in state}
    warnings = {"speed": checks.pop("speed")}
    made = Probes("127.0.0.1", 0, ready=checks, warnings=warnings)
    async with made as probes, aiohttp.ClientSession() as http:

        async def get(path, method="GET"):
            url = f"http://127.0.0.1:{probes.port}{path}"
            async with http.request(method, url) as answer:
                return answer.status, await answer.text()

        get.state = state
        yield get


@pytest.mark.parametrize("path", ["/healthz", "/healthz/ping", "/healthz/healthz", "/healthz/"])
async def test_a_process_that_answers_is_alive(probe, path):
    assert await probe(path) == (200, "ok")


@pytest.mark.parametrize("path", ["/readyz", "/readyz/readyz"])
async def test_ready_means_that_everything_is(probe, path):
    status, text = await probe(path)
    assert status == 500
    assert "[-]caches failed: 2 kinds are not listed yet" in text
    probe.state["caches"] = ""
    status, text = await probe(path)
    assert (status, "[+]caches ok" in text, "[-]engine failed: warming up" in text) == (
        500,
        True,
        True,
    )
    probe.state["engine"] = ""
    assert await probe(path) == (200, "ok")


async def test_one_check_by_itself(probe):
    assert (await probe("/readyz/engine"))[0] == 500
    probe.state["engine"] = ""
    assert await probe("/readyz/engine") == (200, "ok")
    assert (await probe("/readyz/nothing"))[0] == 404


async def test_verbose_lists_all_checks(probe):
    status, text = await probe("/healthz?verbose")
    assert status == 200
    assert text == "[+]ping ok\n[+]healthz ok\nhealthz check passed\n"


async def test_a_warning_is_shown_and_makes_nothing_unready(probe):
    probe.state |= {"caches": "", "engine": "", "speed": "runs are slow"}
    assert await probe("/readyz") == (200, "ok")
    assert await probe("/readyz?verbose") == (
        200,
        "[+]caches ok\n[+]engine ok\n[!]speed: runs are slow\nreadyz check passed\n",
    )
    assert "speed" not in (await probe("/healthz?verbose"))[1]
    assert (await probe("/readyz/speed"))[0] == 404
    probe.state["speed"] = ""
    assert "speed" not in (await probe("/readyz?verbose"))[1]


async def test_other_paths_and_methods(probe):
    assert (await probe("/"))[0] == 404
    assert (await probe("/healthz", "POST"))[0] == 404
    assert (await probe("/healthz", "HEAD"))[0] == 200
