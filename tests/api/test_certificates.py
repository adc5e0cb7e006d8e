# SPDX-License-Identifier: Apache-2.0
"""What is told of a certificate in a Secret, and which ones a server cannot use."""

import base64

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.certificates import (
    Certificate,
    certificate_of,
)
from cryptography import x509

from tests.support.certificates import Authority

AUTHORITY = Authority()
GOOD = AUTHORITY.secret()
END = x509.load_pem_x509_certificate(base64.b64decode(GOOD["tls.crt"])).not_valid_after_utc


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_usable_one_is_told_by_its_end_and_its_fingerprint():
    found = certificate_of({"data": GOOD})
    assert found.problem == ""
    assert len(found.fingerprint) == 16
    assert found.not_after == f"{END:%Y-%m-%dT%H:%M:%SZ}"
    assert Certificate.read(found.as_fields()) == found


def test_another_one_has_another_fingerprint():
    renewed = certificate_of({"data": AUTHORITY.secret()})
    assert renewed.fingerprint != certificate_of({"data": GOOD}).fingerprint


def test_nothing_of_the_key_is_told():
    told = repr(certificate_of({"data": GOOD}))
    assert GOOD["tls.key"][40:80] not in told
    assert "PRIVATE" not in told


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "it has no tls.crt"),
        ({}, "it has no tls.crt"),
        ({"tls.crt": GOOD["tls.crt"]}, "it has no tls.key"),
        ({**GOOD, "tls.crt": "not base64!"}, "tls.crt is not base64"),
        ({**GOOD, "tls.crt": encoded("text")}, "tls.crt holds no certificate in PEM"),
        ({**GOOD, "tls.crt": GOOD["tls.key"]}, "tls.crt holds no certificate in PEM"),
        ({**GOOD, "tls.key": encoded("s3cret")}, "tls.key holds no private key in PEM"),
        ({**GOOD, "tls.key": AUTHORITY.secret()["tls.key"]}, "tls.key is not the key of tls.crt"),
    ],
)
def test_what_a_server_cannot_use_is_named_without_its_content(data, problem):
    found = certificate_of({"data": data})
    assert found.problem.startswith(problem)
    assert "s3cret" not in found.problem
    assert found.not_after == ""


@pytest.mark.parametrize(
    ("start", "end", "renewal"),
    [
        ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2026-12-25T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-01-28T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T10:00:00Z", "2026-01-01T09:00:00Z"),
        ("", "", ""),
    ],
)
def test_it_should_be_renewed_a_week_or_a_tenth_of_its_life_before_its_end(start, end, renewal):
    assert Certificate(not_after=end, not_before=start).renew_before == renewal


@pytest.mark.parametrize(("now", "expired"), [("2026-01-01T00:00:00Z", False), ("9", True)])
def test_expiry_is_that_of_a_moment(now, expired):
    assert certificate_of({"data": GOOD}).has_expired(now) is expired
    assert Certificate().has_expired(now) is False
