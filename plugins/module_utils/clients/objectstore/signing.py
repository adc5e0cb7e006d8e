# SPDX-License-Identifier: Apache-2.0
"""AWS Signature Version 4 of one request to S3.

Source: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html. botocore
signs, too, but its import costs each process that asks a store 75 ms and 12 MiB; the tests compare
the two.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import quote

_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs.

    Attributes:
        access_key: the id.
        secret_key: never shown.
        region: of the bucket.
    """

    access_key: str
    secret_key: str = field(repr=False)
    region: str

    def headers(
        self, method: str, host: str, target: str, body: bytes, now: datetime
    ) -> dict[str, str]:
        """Return the headers that a request needs.

        Args:
            method: of the request.
            host: its header Host.
            target: path and query; the query's names sorted, all encoded.
            body: its content.
            now: the present, in UTC.
        """
        digest = hashlib.sha256(body).hexdigest()
        at = now.strftime("%Y%m%dT%H%M%SZ")
        signed = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": at}
        names = ";".join(signed)
        path, _mark, query = target.partition("?")
        lines = [f"{name}:{value}\n" for name, value in signed.items()]
        canonical = "\n".join([method, path, query, "".join(lines), names, digest])
        scope = f"{at[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join([_ALGORITHM, at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(self._key(scope), text.encode(), hashlib.sha256).hexdigest()
        credential = f"Credential={self.access_key}/{scope}"
        return {
            "X-Amz-Content-SHA256": digest,
            "X-Amz-Date": at,
            "Authorization": (
                f"{_ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
            ),
        }

    def _key(self, scope: str) -> bytes:
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return key


def target(path: str, query: Mapping[str, str]) -> str:
    """Return path and query of a request, encoded as a signature needs them."""
    pairs = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in query.items())
    written = "&".join(f"{name}={value}" for name, value in pairs)
    return f"{quote(path)}?{written}" if written else quote(path)
