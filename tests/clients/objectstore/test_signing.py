# SPDX-License-Identifier: Apache-2.0
"""Requests are signed as botocore signs them."""

from datetime import UTC, datetime

from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.objectstore.signing import (
    Signer,
    target,
)
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text(min_size=1, max_size=20).filter(lambda text: "/" not in text and text.isprintable())
WORDS = st.text("abcXYZ019-_", min_size=1, max_size=20)


@given(
    method=st.sampled_from(["POST", "PUT", "DELETE"]),
    folders=st.lists(NAMES, min_size=1, max_size=4),
    query=st.dictionaries(WORDS, st.text(max_size=20).filter(str.isprintable), max_size=3),
    body=st.binary(max_size=20),
    keys=st.tuples(WORDS, WORDS, WORDS),
)
def test_a_signature_is_that_of_botocore(
    method: str,
    folders: list[str],
    query: dict[str, str],
    body: bytes,
    keys: tuple[str, str, str],
) -> None:
    access_key, secret_key, region = keys
    where = target("/" + "/".join(folders), query)
    signer = Signer(access_key, secret_key, region)

    found = signer.headers(method, "s3.example.com", where, body, datetime.now(UTC))

    request = AWSRequest(method, f"https://s3.example.com{where}", data=body)
    request.context["timestamp"] = found["X-Amz-Date"]
    request.headers["X-Amz-Date"] = found["X-Amz-Date"]
    request.headers["X-Amz-Content-SHA256"] = found["X-Amz-Content-SHA256"]
    auth = S3SigV4Auth(Credentials(access_key, secret_key), "s3", region)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    assert found["Authorization"].endswith(f"Signature={auth.signature(text, request)}")


def test_a_secret_key_is_not_shown() -> None:
    assert "hidden" not in repr(Signer("id", "hidden", "us-east-1"))
