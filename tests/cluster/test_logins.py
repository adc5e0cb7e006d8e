# SPDX-License-Identifier: Apache-2.0
"""Where the operator logs in to a database, and what the server there has to prove."""

import base64
from typing import Any, cast

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.clients.kubernetes.applying import (
    Writer,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.logins import entrance
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.root_credential import (
    Login,
)

Json = dict[str, Any]

LOGIN = Login("dump", "secret")
WITH_TLS = {"tls": {"secretRef": {"name": "mo-tls"}}, "proxy": {"replicas": 1}}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Objects:
    """The objects of a namespace."""

    def __init__(self, tls: Json | None = None) -> None:
        self.tls = tls

    def get(self, wanted: Json) -> Json | None:
        if wanted["kind"] == "Service":
            return {"spec": {"clusterIP": "10.0.0.1"}}
        assert (wanted["kind"], wanted["metadata"]["name"]) == ("Secret", "mo-tls")
        return None if self.tls is None else {"data": self.tls}


def trusted(spec: Json, service: str, tls: Json | None) -> str:
    resource = {"metadata": {"name": "mo", "namespace": "prod"}, "spec": spec}
    found = entrance(cast("Writer", Objects(tls)), resource, service, LOGIN)
    assert (found.host, found.port, found.user) == ("10.0.0.1", 6001, "dump")
    return found.trusted


CRT, CA = {"tls.crt": encoded("leaf\n")}, {"ca.crt": encoded("authority\n")}


@pytest.mark.parametrize(
    ("spec", "service", "tls", "expected"),
    [
        (WITH_TLS, "mo-proxy", CRT, "leaf\n"),
        (WITH_TLS, "mo-proxy", {**CRT, **CA, "tls.key": "x"}, "leaf\n\nauthority\n"),
        (WITH_TLS, "mo-tp-cn", CRT, ""),
        ({"proxy": {"replicas": 1}}, "mo-proxy", CRT, ""),
        ({"tls": {}}, "mo-proxy", CRT, ""),
    ],
)
def test_proxies_have_to_prove_what_they_are_if_there_is_tls(
    spec: Json, service: str, tls: Json, expected: str
) -> None:
    assert trusted(spec, service, tls) == expected


@pytest.mark.parametrize("tls", [None, {}, CA, {"tls.crt": "not base64!"}, {"tls.crt": "/w=="}])
def test_without_a_certificate_there_is_no_login(tls: Json | None) -> None:
    with pytest.raises(ValueError, match="Secret mo-tls"):
        trusted(WITH_TLS, "mo-proxy", tls)
