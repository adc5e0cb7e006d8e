# SPDX-License-Identifier: Apache-2.0
"""Certificates of the webhook: what is kept, what is renewed."""

import datetime

from cryptography import x509

from ansible_operator.serve.webhook.authority import make_credentials, renewed

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


NAMES = ["operator.ns.svc", "127.0.0.1"]


def leaf(credentials):
    return x509.load_pem_x509_certificate(credentials.serving.certificate)


def authorities(credentials):
    return x509.load_pem_x509_certificates(credentials.bundle)


def test_fresh_certificates_are_kept():
    made = make_credentials(NAMES, NOW)
    assert renewed(made, NAMES, NOW + datetime.timedelta(days=59)) is made
    leaf(made).verify_directly_issued_by(authorities(made)[0])
    names = leaf(made).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["operator.ns.svc"]
    assert [str(found) for found in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]


def test_a_serving_certificate_is_renewed_in_time():
    made = make_credentials(NAMES, NOW)
    later = renewed(made, NAMES, NOW + datetime.timedelta(days=61))
    assert later.bundle == made.bundle
    assert later.serving != made.serving
    leaf(later).verify_directly_issued_by(authorities(made)[0])


def test_another_name_needs_another_certificate():
    made = make_credentials(["one"], NOW)
    later = renewed(made, ["two"], NOW)
    assert later.bundle == made.bundle
    assert leaf(later).subject.rfc4514_string() == "CN=two"


def test_a_new_authority_leaves_the_old_one_trusted():
    made = make_credentials(NAMES, NOW)
    later = renewed(made, NAMES, NOW + datetime.timedelta(days=2500))
    assert [item.serial_number for item in authorities(later)][1:] == [
        authorities(made)[0].serial_number
    ]
    leaf(later).verify_directly_issued_by(authorities(later)[0])
