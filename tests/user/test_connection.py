# SPDX-License-Identifier: Apache-2.0
"""The Secret for applications that connect as a user: where it leads to, and whose it is."""

import base64
from typing import Any

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.connection import (
    connection_secret,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.root_credential import (
    Login,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.user.connection import (
    as_cluster,
    entrance_of,
    is_asked,
    recorded,
)

from tests.support import resources as r

from .worlds import user

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("spec", "host"),
    [
        ({"proxy": {"replicas": 1}}, "mo-proxy.prod.svc"),
        ({"proxy": None}, "mo-tp-cn.prod.svc"),
        ({"clusterDomain": "example.org"}, "mo-proxy.prod.svc.example.org"),
    ],
)
def test_it_leads_to_the_proxies_or_to_the_first_group(spec: Json, host: str) -> None:
    cluster = r.cluster()
    cluster["spec"] |= {"proxy": {"replicas": 1}} | spec
    found = entrance_of(user(), render_matrixonecluster(cluster))
    assert (found.name, found.host, found.tls) == ("shop-user-connection", host, "")


def test_it_says_whose_it_is_and_which_database_is_used() -> None:
    resource = user(connectionSecret={"database": "orders"})
    cluster = r.cluster()
    cluster["spec"]["proxy"] = {"replicas": 1}
    target = entrance_of(resource, render_matrixonecluster(cluster))
    made = connection_secret(as_cluster(resource, "mo"), target, Login("shop", "p"), "", None)
    assert made["metadata"]["name"] == "shop-user-connection"
    assert made["metadata"]["namespace"] == "prod"
    assert made["metadata"]["labels"]["matrixorigin.io/cluster"] == "mo"
    assert made["type"] == "servicebinding.io/mysql"
    uri = base64.b64decode(made["data"]["uri"]).decode()
    assert uri == "mysql://shop:p@mo-proxy.prod.svc:6001/orders"


@pytest.mark.parametrize(
    ("resource", "asked", "name"),
    [
        (user(), False, ""),
        (user(connectionSecret={}), True, ""),
        ({**user(), "status": {"binding": {"name": "x"}}}, False, "x"),
        ({**user(), "status": {"binding": None}}, False, ""),
    ],
    ids=["no", "asked", "recorded", "not recorded"],
)
def test_whether_there_is_one(resource: Json, asked: bool, name: str) -> None:
    assert (is_asked(resource), recorded(resource)) == (asked, name)
