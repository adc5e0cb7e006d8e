# SPDX-License-Identifier: Apache-2.0
"""Roles report metrics of their own on port 5050."""

import contextlib
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families

from ansible_operator.errors import ConfigError
from ansible_operator.serve import metrics_api, user_metrics
from ansible_operator.serve.metrics_api import MetricsApi
from ansible_operator.serve.user_metrics import MetricError, UserMetrics
from tests.support import hostile


@pytest.fixture
def registry():
    registry = CollectorRegistry()
    Gauge("taken", "a metric of the process", registry=registry)
    return registry


@pytest.fixture
def metrics(registry):
    return UserMetrics(registry)


@pytest.fixture
async def post(metrics):
    async with MetricsApi(metrics, 0) as api, aiohttp.ClientSession() as http:

        async def post(body, method="POST", path="/metrics"):
            url = f"http://127.0.0.1:{api.port}{path}"
            kind = {"data": body} if isinstance(body, str) else {"json": body}
            async with http.request(method, url, **kind) as answer:
                return answer.status, await answer.text()

        yield post


def value(metrics, sample):
    lines = metrics.exposition().decode().splitlines()
    found = [line.split()[1] for line in lines if line.split()[0] == sample]
    return float(found[0]) if found else None


def named(**operations):
    return {"name": "n", "description": "help", **operations}


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([{"counter": {"increment": True}}], 1),
        ([{"counter": {"increment": True, "add": 5}}], 1),
        ([{"counter": {"add": 2.5}}, {"counter": {"add": 1}}], 3.5),
        ([{"counter": {}}], 0),
        ([{"counter": {"increment": False}}], 0),
        ([{"gauge": {"increment": True}}, {"gauge": {"increment": True}}], 2),
        ([{"gauge": {"decrement": True}}], -1),
        ([{"gauge": {"add": 4}}, {"gauge": {"subtract": 1.5}}], 2.5),
        ([{"gauge": {"set": 7}}, {"gauge": {"set": 0}}], 0),
        ([{"gauge": {"set": 7}}, {"gauge": {"add": 0}}], 7),
        ([{"gauge": {"add": 0, "set": 3}}], 3),
        ([{"gauge": {"set": None, "increment": None, "add": 2}}], 2),
    ],
)
async def test_counters_and_gauges(post, metrics, requests, expected):
    for request in requests:
        assert await post(named(**request)) == (200, "")
    assert value(metrics, "n") == expected


async def test_a_gauge_can_show_the_time(post, metrics):
    assert await post(named(gauge={"set": 0, "set_to_current_time": True})) == (200, "")
    assert value(metrics, "n") > 1.7e9


async def test_histograms_have_the_default_buckets(post, metrics):
    for seconds in (0.005, 0.3, 20, 0):
        assert await post(named(histogram={"observe": seconds})) == (200, "")
    lines = metrics.exposition().decode().splitlines()
    assert lines[:2] == ["# HELP n help", "# TYPE n histogram"]
    buckets = {line.split('"')[1]: line.split()[-1] for line in lines if "_bucket" in line}
    assert list(buckets) == [
        "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf",
    ]  # fmt: skip
    assert (buckets["0.005"], buckets["0.25"], buckets["0.5"], buckets["+Inf"]) == (
        "2", "2", "3", "4",
    )  # fmt: skip
    assert value(metrics, "n_count") == 4
    assert value(metrics, "n_sum") == pytest.approx(20.305)


async def test_a_histogram_has_the_buckets_of_its_first_observation(post, metrics):
    for observed in ([], [1.5, 40], 200):
        own = {"observe": observed, "buckets": [60, 1, 60]}
        assert await post(named(histogram=own)) == (200, "")
    assert await post(named(histogram={"observe": 2, "buckets": [5]})) == (200, "")
    lines = metrics.exposition().decode().splitlines()
    buckets = {line.split('"')[1]: line.split()[-1] for line in lines if "_bucket" in line}
    assert buckets == {"1": "0", "60": "3", "+Inf": "4"}
    assert (value(metrics, "n_count"), value(metrics, "n_sum")) == (4, 243.5)


async def test_a_body_may_have_several_requests(post, metrics):
    several = [of(f"s{number}", gauge={"set": number}) for number in range(300)]
    assert await post(several) == (200, "")
    assert value(metrics, 'age{schedule="s299"}') == 299
    assert (await post([of("a", gauge={"set": 7}), {}]))[0] == 400


async def test_summaries_count_and_add_up(post, metrics):
    for seconds in (1, 2.5):
        await post(named(summary={"observe": seconds}))
    assert (value(metrics, "n_count"), value(metrics, "n_sum")) == (2, 3.5)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (named(), "a request should contain at least one metric"),
        (named(counter=None), "a request should contain at least one metric"),
        (named(counter={}, gauge={}), "only one metric can be processed at a time"),
        (named(counter={"add": -1}), "counter metrics cannot decrease in value"),
        (named(counter={"increment": "yes"}), "json: cannot unmarshal string"),
        (named(gauge={"set": True}), "json: cannot unmarshal bool"),
        (named(gauge="x"), "json: cannot unmarshal"),
        ({"name": 3, "gauge": {}}, "json: cannot unmarshal"),
        ("{", "truncated"),
        ("[]", "object"),
        ("[3]", "object"),
        (named(histogram={"observe": [1, "2"]}), "json: cannot unmarshal string"),
    ],
)
async def test_requests_that_make_no_sense(post, body, text):
    status, answer = await post(body)
    assert status == 400
    assert text.lower() in answer.lower()


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("counter", "gauge", "cannot change metric type of n, which is a counter"),
        ("gauge", "counter", "cannot change metric type of n, which is a gauge"),
        ("summary", "gauge", "cannot change metric type of n, which is a histogram or summary"),
        ("histogram", "summary", "which is a histogram or summary"),
    ],
)
async def test_a_metric_keeps_its_type(post, first, second, text):
    await post(named(**{first: {}}))
    status, answer = await post(named(**{second: {}}))
    assert (status, text in answer) == (400, True)


async def test_other_methods_and_paths(post):
    assert await post("", method="GET") == (405, "Method not allowed\n")
    assert (await post("", path="/other"))[0] == 404


async def test_a_name_of_the_process_is_not_replaced(post, metrics):
    assert await post({"name": "taken", "description": "", "gauge": {"set": 1}}) == (200, "")
    assert metrics.exposition() == b""


async def test_names_that_prometheus_cannot_read_are_dropped(post, metrics):
    assert (await post({"name": 'a"} 1\nb', "gauge": {"set": 1}}))[0] == 200
    assert metrics.exposition() == b""


async def test_help_texts_stay_on_their_line(post, metrics):
    await post({"name": "n", "description": "a\nb 1\\", "gauge": {"set": 1}})
    assert metrics.exposition().decode().splitlines()[0] == r"# HELP n a\nb 1\\"


async def test_a_counter_keeps_the_name_it_was_given(post, metrics):
    await post({"name": "jobs", "description": "d", "counter": {"increment": True}})
    assert "jobs 1" in metrics.exposition().decode().splitlines()


async def test_a_taken_port_is_a_clear_error(metrics):
    async with MetricsApi(metrics, 0) as api:
        with pytest.raises(ConfigError, match=r"metrics API cannot listen .*--metrics-api-port"):
            await MetricsApi(metrics, api.port).start()


def of(schedule, **operations):
    return {"name": "age", "description": "help", "labels": {"schedule": schedule}, **operations}


async def test_a_metric_has_a_value_for_each_set_of_labels(post, metrics):
    odd = 'a"b\\c\nd'
    for schedule, age in (("b", 2), ("a", 1), ("b", 3), (odd, 4)):
        assert await post(of(schedule, gauge={"set": age})) == (200, "")
    assert metrics.exposition().decode().splitlines() == [
        "# HELP age help",
        "# TYPE age gauge",
        'age{schedule="a"} 1',
        'age{schedule="a\\"b\\\\c\\nd"} 4',
        'age{schedule="b"} 3',
    ]
    [family] = text_string_to_metric_families(metrics.exposition().decode())
    assert {one.labels["schedule"]: one.value for one in family.samples} == {"a": 1, "b": 3, odd: 4}


async def test_values_go_when_whoever_reported_them_says_so(post, metrics):
    for schedule in ("a", "b"):
        await post({**of(schedule, gauge={"set": 1}), "labels": {"schedule": schedule, "x": "y"}})
    assert await post(of("a", gauge={"remove": True})) == (200, "")
    assert await post(of("unknown", gauge={"remove": True})) == (200, "")
    assert value(metrics, 'age{schedule="a",x="y"}') is None
    assert value(metrics, 'age{schedule="b",x="y"}') == 1
    assert await post({"name": "age", "gauge": {"remove": True}}) == (200, "")
    assert value(metrics, 'age{schedule="b",x="y"}') is None


async def test_histograms_have_labels_beside_their_buckets(post, metrics):
    assert await post(of("a", histogram={"observe": 20})) == (200, "")
    assert value(metrics, 'age_bucket{schedule="a",le="10"}') == 0
    assert value(metrics, 'age_bucket{schedule="a",le="+Inf"}') == 1
    assert value(metrics, 'age_sum{schedule="a"}') == 20


@pytest.mark.parametrize(
    "labels", [[], "a", {"a-b": "c"}, {"__a": "b"}, {"le": "1"}, {"a": 1}, {"a": None}, {"": "a"}]
)
async def test_labels_that_are_none(post, metrics, labels):
    status, _text = await post({**of("a", gauge={"set": 1}), "labels": labels})
    assert status == 400
    assert "age" not in metrics.exposition().decode()


async def test_a_metric_does_not_grow_without_end(post, metrics, monkeypatch):
    monkeypatch.setattr(user_metrics, "MOST_SERIES", 2)
    answers = [(await post(of(str(number), gauge={"set": 1})))[0] for number in (1, 2, 3, 2)]
    assert answers == [200, 200, 400, 200]


_operations = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("increment", "add", "subtract", "set", "set_to_current_time", "observe", "remove"),
        st.one_of(hostile.scalars, st.lists(hostile.scalars, max_size=3)),
    ),
)
_requests = st.fixed_dictionaries(
    {"name": st.sampled_from(["a", "b", "c"])},
    optional={
        "labels": st.one_of(hostile.flat_values, st.dictionaries(hostile.keys, hostile.texts)),
        **dict.fromkeys(("counter", "gauge", "histogram", "summary"), _operations),
    },
)


@settings(deadline=None)
@given(st.one_of(_requests, hostile.values))
def test_whatever_is_reported_all_metrics_can_be_read(value: Any) -> None:
    metrics = UserMetrics(CollectorRegistry())
    with contextlib.suppress(MetricError, ValueError):
        for request in metrics_api._requests(hostile.encode(value)):
            metrics.handle(request)
    assert isinstance(metrics.exposition(), bytes)


def test_a_number_that_no_float_can_be_is_refused() -> None:
    with pytest.raises(MetricError, match="too large"):
        UserMetrics(CollectorRegistry()).handle({"name": "a", "gauge": {"add": 10**400}})
