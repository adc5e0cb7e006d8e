# SPDX-License-Identifier: Apache-2.0
"""Which authorities are registered while they change."""

from ansible_operator.serve.webhook.overlap import Overlap

KEEP = 10.0


def pem(name: str) -> bytes:
    return f"-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n".encode()


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


A, B, C = pem("a"), pem("b"), pem("c")


def test_the_authority_before_is_trusted_until_all_replicas_have_the_new_one() -> None:
    clock = Clock()
    overlap = Overlap(A, KEEP, clock)
    assert overlap.with_previous(A) == A
    assert overlap.with_previous(B) == B + A
    clock.now += KEEP - 1
    assert overlap.with_previous(B) == B + A
    clock.now += 2
    assert overlap.with_previous(B) == B


def test_changes_that_follow_each_other_lose_none_and_repeat_none() -> None:
    clock = Clock()
    overlap = Overlap(A, KEEP, clock)
    assert overlap.with_previous(B + A) == B + A
    clock.now += KEEP / 2
    assert overlap.with_previous(C) == C + B + A
    assert overlap.with_previous(A) == A + C + B
    clock.now += KEEP + 1
    assert overlap.with_previous(A) == A


def test_without_a_bundle_another_controller_decides() -> None:
    overlap = Overlap(A, KEEP, Clock())
    assert overlap.with_previous(None) is None
    assert overlap.with_previous(B) == B + A


def test_what_is_no_certificate_is_registered_as_it_is() -> None:
    """The API server's message about it is better than silence."""
    overlap = Overlap(None, KEEP, Clock())
    assert overlap.with_previous(b"nonsense") == b"nonsense"
