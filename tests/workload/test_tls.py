# SPDX-License-Identifier: Apache-2.0
"""TLS for SQL: what compute nodes and proxies read, and when they get another certificate."""

import copy
import tomllib

import pytest
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.fields import Fields
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.api.timestamps import (
    timestamp,
    unix_time,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.cluster.rendering import (
    render_matrixonecluster,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.passes.observing import shown
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import tls
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload.certificate_metrics import (
    certificate_metrics,
)

from tests.support import resources as r
from tests.support.builders import states
from tests.support.certificates import Authority
from tests.support.passes import plan_of, report_on

AUTHORITY = Authority()
TLS = {"secretRef": {"name": "mo-tls"}}
ANNOTATION = "matrixorigin.io/tls-certificate"
SETS = pytest.mark.parametrize("make", [r.cnset, r.proxyset])
NOW = "2026-11-26T12:00:00Z"


def secret(data=None):
    """A Secret as ``observe`` shows it."""
    found = {"kind": "Secret", "metadata": {"name": "mo-tls"}, "data": data or AUTHORITY.secret()}
    return shown(found, {"certificate": True})


def certificate(data=None):
    return tls.certificate_in(secret(data))


def deployment(fingerprint=""):
    annotations = {ANNOTATION: fingerprint} if fingerprint else {}
    template = {"metadata": {"annotations": annotations}}
    return {"kind": "Deployment", "metadata": {"name": "mo"}, "spec": {"template": template}}


def config_of(objects):
    (config_map,) = [one for one in objects if one["kind"] == "ConfigMap"]
    (text,) = [value for key, value in config_map["data"].items() if key.endswith(".toml")]
    return tomllib.loads(text)


FILES = ("/etc/matrixone/tls/tls.crt", "/etc/matrixone/tls/tls.key")


def test_a_compute_node_reads_it():
    own = "[cn.frontend]\nproxy-enabled = true\nenableTls = false\n"
    frontend = config_of(r.render(r.cnset(tls=TLS, config=own)))["cn"]["frontend"]
    assert frontend.pop("proxy-enabled") is True
    assert frontend == {"enableTls": True, "tlsCertFile": FILES[0], "tlsKeyFile": FILES[1]}


def test_a_proxy_reads_it():
    section = config_of(r.render(r.proxyset(tls=TLS)))["proxy"]
    assert section["tls-enabled"] is True
    assert (section["tls-cert-file"], section["tls-key-file"]) == FILES


@SETS
def test_the_pods_have_the_certificate_and_its_key_and_nothing_else(make):
    objects = r.render(make(tls=TLS))
    volume = r.volumes(objects)[r.mounts(objects)["/etc/matrixone/tls"]]
    assert volume["secret"]["secretName"] == "mo-tls"
    assert [one["key"] for one in volume["secret"]["items"]] == ["tls.crt", "tls.key"]
    assert "mo-tls" not in repr(r.render(make()))


@pytest.mark.parametrize(("parts", "having"), [({"proxy": {}}, "ProxySet"), ({}, "CNSet")])
def test_a_cluster_gives_its_own_to_what_clients_connect_to(parts, having):
    children = render_matrixonecluster(r.cluster(tls=TLS, webui={}, **parts))
    assert {one["kind"] for one in children if "tls" in one["spec"]} == {having}


def test_what_is_observed_of_the_secret_holds_no_key():
    data = AUTHORITY.secret()
    found = secret(data)
    assert found["certificate"]["problem"] == ""
    assert not any(value in repr(found) for value in data.values())
    assert tls.references(r.cnset()) == {}
    (reference,) = tls.references(r.cnset(tls=TLS)).values()
    assert (reference["name"], reference["namespace"]) == ("mo-tls", "prod")


def test_another_certificate_is_another_template():
    first, second = (
        tls.with_certificate([deployment()], "Deployment/mo", certificate())[0] for _ in range(2)
    )
    assert first["spec"]["template"] != second["spec"]["template"]
    (same,) = tls.with_certificate([deployment()], "Deployment/mo", None)
    assert same == deployment()


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (None, "waiting for Secret mo-tls, which spec.tls.secretRef names"),
        (
            certificate({"tls.crt": ""}),
            "waiting for a certificate in Secret mo-tls: it has no tls.crt",
        ),
        (certificate(), ""),
    ],
)
@SETS
def test_pods_wait_for_a_certificate_that_they_can_read(make, found, why):
    assert tls.hold(make(tls=TLS), found, deployment("old"), NOW) == why
    assert tls.hold(make(), None, None, NOW) == ""


def test_one_that_has_expired_is_not_rolled_out_and_holds_back_nothing_else():
    found, later = certificate(), "2999-01-01T00:00:00Z"
    in_use = deployment(found.fingerprint)
    assert "has expired at" in tls.hold(r.cnset(tls=TLS), found, deployment("old"), later)
    assert "has expired at" in tls.hold(r.cnset(tls=TLS), found, None, later)
    assert tls.hold(r.cnset(tls=TLS), found, in_use, later) == ""


def test_the_status_names_the_secret_and_the_end():
    found = certificate()
    assert tls.status(r.cnset(), None) is None
    assert tls.status(r.cnset(tls=TLS), None) == {"secretName": "mo-tls"}
    told = tls.status(r.cnset(tls=TLS), found)
    assert told == {
        "secretName": "mo-tls",
        "notAfter": found.not_after,
        "renewBefore": found.renew_before,
    }


@pytest.mark.parametrize("data", [None, {"tls.crt": ""}])
def test_while_the_secret_has_none_the_status_tells_of_the_one_that_pods_have(data):
    ends = {"notAfter": "2026-12-01T00:00:00Z", "renewBefore": "2026-11-24T00:00:00Z"}
    before = {**r.proxyset(tls=TLS), "status": {"tls": {"secretName": "mo-tls", **ends}}}
    found = None if data is None else certificate(data)
    assert tls.status(before, found) == {"secretName": "mo-tls", **ends}
    other = {**before, "spec": {**before["spec"], "tls": {"secretRef": {"name": "other"}}}}
    assert tls.status(other, found) == {"secretName": "other"}


TOLD = {
    "secretName": "mo-tls",
    "notAfter": "2026-12-01T00:00:00Z",
    "renewBefore": "2026-11-24T00:00:00Z",
}


@pytest.mark.parametrize(
    ("told", "now", "expected"),
    [
        (TOLD, "2026-11-23T23:59:59Z", None),
        (TOLD, "2026-11-24T00:00:00Z", ("CertificateExpiring", "expires at 2026-12-01T00:00:00Z")),
        (TOLD, "2026-12-01T00:00:00Z", ("CertificateExpired", "has expired at 2026-12-01")),
        ({"secretName": "mo-tls"}, "2999-01-01T00:00:00Z", None),
        ({}, "2999-01-01T00:00:00Z", None),
        (None, "2999-01-01T00:00:00Z", None),
        (
            {"secretName": "mo-tls", "notAfter": "2026-12-01T00:00:00Z"},
            "2026-11-30T00:00:00Z",
            None,
        ),
    ],
)
def test_one_that_is_not_renewed_in_time_is_reported_before_it_expires(told, now, expected):
    found = tls.expiring(told, now)
    assert (found and found[0]) == (expected and expected[0])
    assert expected is None or expected[1] in found[1]


def test_a_set_whose_certificate_expires_serves_and_is_degraded():
    ends = certificate()
    over = timestamp(unix_time(ends.as_fields()["not_before"]) + 3600)
    found = {
        "workload": live(r.render(r.proxyset(tls=TLS))),
        "pods": [],
        tls.LABEL: {**secret(), "certificate": {**ends.as_fields(), "not_after": over}},
    }
    given = r.proxyset(tls=TLS)
    plan = plan_of(given, found, references={"logSet": r.logset()})
    report = report_on(given, plan, found, {}, "", over)
    assert states(report["status"])["Degraded"] == ("True", "CertificateExpired")
    (expiry, renewal) = certificate_metrics(given, report["status"])
    assert expiry["gauge"] == {"set": unix_time(over)}
    assert expiry["labels"] == {"set_namespace": "prod", "set_kind": "ProxySet", "set": "mo"}
    assert renewal["gauge"]["set"] < expiry["gauge"]["set"]
    for status in (None, {}):
        assert [one["gauge"] for one in certificate_metrics(given, status)] == [
            {"remove": True}
        ] * 2


def test_no_name_is_no_tls():
    assert tls.secret_name(Fields("spec", {"tls": {}})) == ""


def live(objects):
    """The workload of a set as it was applied before."""
    found = copy.deepcopy(r.workload(objects))
    found["metadata"].update(generation=1, managedFields=[])
    return found


def test_a_pass_holds_the_pods_until_there_is_a_certificate():
    given, references = r.proxyset(tls=TLS), {"logSet": r.logset()}
    found = {"workload": live(r.render(r.proxyset())), "pods": [], tls.LABEL: None}
    held = plan_of(given, found, references=references)
    assert held["waitingFor"] == "waiting for Secret mo-tls, which spec.tls.secretRef names"
    assert not [one for one in held["objects"] if one["kind"] == "Deployment"]

    found_secret = secret()
    rolled = plan_of(given, {**found, tls.LABEL: found_secret}, references=references)
    assert rolled["waitingFor"] == ""
    (workload,) = [one for one in rolled["objects"] if one["kind"] == "Deployment"]
    annotations = workload["spec"]["template"]["metadata"]["annotations"]
    assert annotations[ANNOTATION] == found_secret["certificate"]["fingerprint"]
