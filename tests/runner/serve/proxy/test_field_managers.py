# SPDX-License-Identifier: Apache-2.0
"""Who has written a version of an object, by what the API server notes."""

import pytest

from ansible_operator.serve.proxy.field_managers import has_written, manager_of


def note(manager, time="10", fields=("f:a",), **more):
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": time,
        "fieldsV1": {name: {} for name in fields},
        **more,
    }


OURS, THEIRS = note("ansible"), note("kubectl", fields=("f:b",))


@pytest.mark.parametrize(
    ("before", "after", "is_ours"),
    [
        ([OURS, THEIRS], [OURS, note("kubectl", time="11")], False),
        ([OURS, THEIRS], [note("ansible", time="11"), THEIRS], True),
        ([OURS, THEIRS], [note("ansible", fields=("f:a", "f:c")), THEIRS], True),
        ([OURS, THEIRS], [note("ansible", time="11"), note("kubectl", time="11")], True),
        ([OURS, THEIRS], [note("ansible", time="12"), note("kubectl", time="11")], True),
        # What an earlier run has written, and then another one, before the cache saw either.
        ([OURS, THEIRS], [note("ansible", time="11"), note("kubectl", time="12")], False),
        ([THEIRS], [OURS, THEIRS], True),
        ([OURS, THEIRS], [THEIRS], False),
        ([note("ansible", fields=("f:a", "f:b"))], [OURS, THEIRS], False),
        ([note("kubectl", fields=("f:a", "f:b"))], [OURS, THEIRS], True),
        ([note("ansible", fields=("f:a", "f:b"))], [OURS], False),
        ([OURS], [OURS, THEIRS], False),
        ([OURS, THEIRS], [OURS, THEIRS], True),
        ([OURS], [OURS, note("ansible", subresource="status")], True),
        ([OURS], None, False),
        (None, [OURS], True),
        (None, [THEIRS], False),
        (None, None, True),
    ],
)
def test_who_has_written(before, after, is_ours):
    assert has_written("ansible", before, after) is is_ours


@pytest.mark.parametrize(
    ("query", "agent", "manager"),
    [
        ({"fieldManager": "ansible"}, "curl/8", "ansible"),
        ({}, "OpenAPI-Generator/31.0.0/python", "OpenAPI-Generator"),
        ({}, "a" * 200, "a" * 128),
        ({}, "", ""),
    ],
)
def test_the_name_of_a_manager(query, agent, manager):
    assert manager_of(query, {"User-Agent": agent}) == manager
    assert manager_of({}, {}) == "ansible-operator"
