# SPDX-License-Identifier: Apache-2.0
"""Cron expressions: which are accepted, and when they are due, also where clocks are changed."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api import cron as schedules
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.cron import (
    InvalidSchedule,
    duration,
    find_zone,
    parse,
)
from hypothesis import given
from hypothesis import strategies as st

ZONES = ("", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "zone", "moment", "expected"),
    [
        ("0 3 * * *", "", "2026-11-22T02:59", "2026-11-22T03:00"),
        ("0 3 * * *", "", "2026-11-22T03:00", "2026-11-23T03:00"),
        ("@daily", "", "2026-11-22T03:00", "2026-11-23T00:00"),
        ("@midnight", "Asia/Kathmandu", "2026-11-22T00:00", "2026-11-22T18:15"),
        ("@hourly", "Asia/Kathmandu", "2026-11-22T00:00", "2026-11-22T00:15"),
        ("@weekly", "", "2026-11-22T00:00", "2026-11-29T00:00"),
        ("@monthly", "", "2026-11-22T00:00", "2026-12-01T00:00"),
        ("@YEARLY", "", "2026-11-22T00:00", "2027-01-01T00:00"),
        ("*/15 * * * *", "", "2026-11-22T10:07", "2026-11-22T10:15"),
        ("7/20 * * * *", "", "2026-11-22T10:28", "2026-11-22T10:47"),
        ("5-8,30 1 * * *", "", "2026-11-22T01:08", "2026-11-22T01:30"),
        ("0 12 * * MON-FRI", "", "2026-11-20T12:00", "2026-11-23T12:00"),
        ("0 12 * jan,Mar ?", "", "2026-11-20T12:00", "2027-01-01T12:00"),
        ("0 0 29 2 *", "", "2096-03-01T00:00", "2104-02-29T00:00"),
        # both day fields restrict: one of them is enough
        ("0 0 13 * 5", "", "2026-11-01T00:00", "2026-11-06T00:00"),
        ("0 0 13 * 5", "", "2026-12-11T00:00", "2026-12-13T00:00"),
        # a step above 1 restricts, unlike a star alone (robfig/cron v3)
        ("0 0 */1 * 5", "", "2026-11-01T00:00", "2026-11-06T00:00"),
        ("0 0 */10 * 5", "", "2026-11-01T00:00", "2026-11-06T00:00"),
        ("0 0 */10 * 5", "", "2026-11-06T00:00", "2026-11-11T00:00"),
        # Berlin: 02:00 is followed by 03:00 on 29 March, 03:00 by 02:00 on 25 October
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T01:30", "2026-03-29T01:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T01:00", "2026-03-30T00:30"),
        ("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00", "2026-03-29T01:30"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T00:30", "2026-10-25T00:30"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:30", "2026-10-25T01:30"),
        ("30 * * * *", "Europe/Berlin", "2026-03-29T00:30", "2026-03-29T01:30"),
        # the clock goes forward by half an hour at 02:00
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00", "2026-10-03T15:30"),
        # a day that Samoa left out: the run falls to the moment of the change
        ("0 12 30 12 *", "Pacific/Apia", "2011-12-01T00:00", "2011-12-30T10:00"),
    ],
)
def test_the_next_run(expression, zone, moment, expected):
    assert parse(expression, zone).next_after(at(moment)) == at(expected)


@pytest.mark.parametrize(
    ("expression", "since", "moment", "expected"),
    [
        ("0 3 * * *", "2026-11-01T00:00", "2026-11-22T03:00", "2026-11-22T03:00"),
        ("0 3 * * *", "2026-11-22T03:00", "2026-11-22T15:00", None),
        ("0 3 * * *", "2026-11-21T03:00", "2026-11-22T02:59", None),
        ("* * * * *", "2016-11-21T03:00", "2026-11-22T02:59", "2026-11-22T02:59"),
        ("0 0 1 1 *", "2020-05-01T00:00", "2026-11-22T00:00", "2026-01-01T00:00"),
    ],
)
def test_the_last_run(expression, since, moment, expected):
    found = parse(expression).last_until(at(moment), since=at(since))
    assert found == (at(expected) if expected else None)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "must be five fields"),
        ("0 0 * * * *", "must be five fields"),
        ("@every 1h", "must be five fields"),
        ("@reboot", "must be five fields"),
        ("TZ=UTC 0 0 * * *", "must be five fields"),
        ("60 * * * *", "minute: must be 0 to 59, not '60'"),
        ("* 24 * * *", "hour: must be 0 to 23"),
        ("* * 0 * *", "day of the month: must be 1 to 31"),
        ("* * * 13 *", "month: must be 1 to 12 or JAN to DEC"),
        ("* * * * 7", "day of the week: must be 0 to 6 or SUN to SAT"),
        ("* * * * FRI-MON", "begins after its end"),
        ("*/0 * * * *", "the step must be a number above 0"),
        ("*/x * * * *", "the step must be a number above 0"),
        ("1- * * * *", "minute: must be 0 to 59, not ''"),
        ("-1 * * * *", "minute"),
        ("1,,2 * * * *", "minute: must be 0 to 59, not ''"),
        ("٣ * * * *", "minute"),
        ("L * * * *", "minute"),
    ],
)
def test_an_expression_is_refused(expression, said):
    with pytest.raises(InvalidSchedule, match=said.replace("(", r"\(")):
        parse(expression)


@pytest.mark.parametrize(
    "zone", ["Local", "Mars/Olympus", "../etc/passwd", "/etc/localtime", "Europe", "a\0b", "é", " "]
)
def test_a_time_zone_is_refused(zone):
    with pytest.raises(InvalidSchedule, match="must be a time zone"):
        find_zone(zone)


def test_a_schedule_that_is_never_due_says_so():
    schedule = parse("0 0 31 2 *")
    assert schedule.next_after(at("2026-01-01T00:00")) is None
    assert schedule.last_until(at("2026-01-01T00:00"), since=at("2016-01-01T00:00")) is None


def test_a_run_is_at_the_change_of_the_clock_in_every_zone_that_has_one():
    """By brute force: the first minute of a day whose clock shows 02:30 or later."""
    for zone in ZONES:
        schedule, local = parse("30 2 * * *", zone), find_zone(zone)
        moment = at("2026-01-01T12:00")
        for _ in range(366):
            run = schedule.next_after(moment)
            shown = run.astimezone(local)
            before = (run - timedelta(minutes=1)).astimezone(local)
            assert before.time() < shown.time()
            assert (before.hour, before.minute) < (2, 30) <= (shown.hour, shown.minute)
            assert run - moment <= timedelta(hours=27)
            moment = run


def lists(first, last):
    value = st.integers(first, last)
    spans = st.tuples(value, value).map(lambda two: f"{min(two)}-{max(two)}")
    steps = st.integers(1, last).map(lambda step: f"*/{step}")
    one = st.one_of(st.just("*"), value.map(str), spans, steps)
    return st.lists(one, min_size=1, max_size=3).map(",".join)


EXPRESSIONS = st.tuples(lists(0, 59), lists(0, 23), lists(1, 28), lists(1, 12), lists(0, 6)).map(
    " ".join
)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=0, tzinfo=UTC)
)


@given(EXPRESSIONS, MOMENTS, st.sampled_from(ZONES))
def test_next_and_last_run_agree(expression, moment, zone):
    schedule = parse(expression, zone)
    run = schedule.next_after(moment)
    assert run is not None
    assert run > moment
    assert schedule.last_until(run, since=moment) == run
    assert schedule.last_until(run - timedelta(seconds=1), since=moment) is None


@given(EXPRESSIONS, MOMENTS)
def test_in_utc_every_run_matches_and_none_is_left_out(expression, moment):
    schedule = parse(expression)
    run = schedule.next_after(moment)
    assert _matches(schedule, run)
    start = moment.replace(second=0) + timedelta(minutes=1)
    between = (start + timedelta(minutes=step) for step in range(600))
    assert not any(_matches(schedule, one) for one in between if one < run)


def _matches(schedule, moment):
    days = (moment.day in schedule.days, moment.isoweekday() % 7 in schedule.weekdays)
    return (
        moment.minute in schedule.minutes
        and moment.hour in schedule.hours
        and moment.month in schedule.months
        and (all(days) if schedule.any_day else any(days))
        and moment.second == 0
    )


@given(st.text(max_size=30))
def test_any_text_is_a_schedule_or_is_refused(text):
    with contextlib.suppress(InvalidSchedule):
        parse(text, text)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-5, "0h0m1s"), (0.2, "0h0m1s"), (59.5, "0h1m0s"), (3605, "1h0m5s"), (90000, "25h0m0s")],
)
def test_a_time_to_wait(seconds, expected):
    assert duration(seconds) == expected


def test_periods_of_the_calendar():
    moment = at("2027-01-01T10:00")
    assert schedules.CALENDAR["daily"](moment) == (2027, 1, 1)
    assert schedules.CALENDAR["weekly"](moment) == (2026, 53)
    assert schedules.CALENDAR["monthly"](moment) == (2027, 1)
