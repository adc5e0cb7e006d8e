# SPDX-License-Identifier: Apache-2.0
"""Runs in the Job of `helm test`: the kinds are served, and the operator's metrics answer.

Uses nothing but Python's standard library. Argument: URL of the metrics, if they are served.
"""

import json
import os
import ssl
import sys
import urllib.error
import urllib.request
from pathlib import Path

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
KINDS = {"MatrixOneCluster", "LogSet", "DNSet", "CNSet", "ProxySet", "WebUI"}


def served() -> set[str]:
    """Kinds that the API server serves."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    request = urllib.request.Request(  # the URL is the API server's
        f"https://{host}:{port}/apis/core.matrixorigin.io/v1alpha1",
        headers={"Authorization": f"Bearer {(ACCOUNT / 'token').read_text().strip()}"},
    )
    context = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=context, timeout=30) as answer:  # noqa: S310
        return {one["kind"] for one in json.load(answer)["resources"]}


def status(url: str) -> int:
    """How the operator answers somebody who shows no token."""
    # Its certificate is its own; nothing is sent that has to be kept from others.
    context = ssl._create_unverified_context()  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(url, context=context, timeout=30) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


missing = KINDS - served()
if missing:
    sys.exit(f"The API server does not serve {', '.join(sorted(missing))}: are the CRDs installed?")
for address in sys.argv[1:]:
    answered = status(address)
    if answered not in {200, 401}:
        sys.exit(f"The operator answers {answered} at {address}")
print("The kinds are served, and the operator answers.")
