# SPDX-License-Identifier: Apache-2.0
"""What the operator's chart renders for values, and which values it refuses."""

import json
import re
from typing import Any

import pytest
import yaml
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.admission.pod_security import (
    VARIABLE,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.schedule.metrics import (
    METRICS,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.task.jobs import (
    IMAGE_VARIABLE,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.backup.verification import (
    verdicts,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.bucket import (
    status as bucket_status,
)
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.pool import pool_metrics
from ansible_collections.matrixorigin.matrixone.plugins.module_utils.workload import (
    certificate_metrics,
)

from ansible_operator.metrics import REGISTRY
from crds.generate.__main__ import main
from deploy.generate.rights import Scope, chosen, read
from testbed.bed import KubectlError, TestBed
from tests.charts.go_modules import MONITORING, module
from tests.charts.releases import OPERATOR, Helm, HelmError, define, find, kinds
from tests.support.places import ROOT

pytestmark = pytest.mark.api  # helm is built with the test bed's programs

NAME = "rel-matrixone-operator"
EVERYTHING = (
    "replicaCount=2",
    "metrics.serviceMonitor.enabled=true",
    "metrics.prometheusRule.enabled=true",
    "metrics.dashboard.enabled=true",
    "uninstallPolicy=cascade",
)
BARE = (
    "metrics.enabled=false",
    "networkPolicy.enabled=false",
    "rbac.create=false",
    "serviceAccount.create=false",
    "crds.enabled=false",
    "uninstallPolicy=keep",
)
VALUES = {
    "defaults": (),
    "everything": EVERYTHING,
    "policy": ("admissionPolicy.enabled=true", "podSecurity=baseline"),
    "bare": BARE,
    "namespaced": ("onlyWatchReleasedNS=true",),
    "namespaces": ("watchNamespaces={a,b}", "uninstallPolicy=cascade", "metrics.requireRBAC=true"),
    "webhook": ("webhook.secretName=certificates", "webhook.failurePolicy=Fail"),
    "pods": (
        "globalRegistryPrefix=mirror.invalid/path",
        "imagePullSecrets[0].name=pull",
        "env.HTTPS_PROXY=http://proxy.invalid",
        "args={--zap-devel}",
        "nodeSelector.disk=fast",
        "tolerations[0].operator=Exists",
        "topologySpreadConstraints[0].maxSkew=1",
        "topologySpreadConstraints[0].topologyKey=topology.kubernetes.io/zone",
        "topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway",
        "priorityClassName=system-cluster-critical",
        "podLabels.team=data",
        "podAnnotations.note=yes",
        "maxConcurrentReconciles=3",
        "maxConcurrentRuns=6",
    ),
    "looks": (
        "podSecurity=baseline",
        "ignoreNamespaces={kube-system,old}",
        "reconcilePeriod=1h30m",
        "nameOverride=mo",
    ),
}


def container(documents: list[dict[str, Any]]) -> dict[str, Any]:
    pod = find(documents, "Deployment")["spec"]["template"]["spec"]
    made: dict[str, Any] = pod["containers"][0]
    return made


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_lint_finds_nothing(helm: Helm, values: tuple[str, ...]) -> None:
    sets = [part for value in values for part in ("--set", value)]
    assert "0 chart(s) failed" in helm("lint", "--strict", OPERATOR, *sets)


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_the_api_server_takes_every_document(
    helm: Helm, fake_testbed: TestBed, monitoring: None, values: tuple[str, ...]
) -> None:
    """A dry run on the server checks every field, those of the Prometheus operator's kinds too."""
    with fake_testbed.namespace("chart") as space:
        documents = helm.template(OPERATOR, *values, space=space, crds=not values)
        for document in documents:
            # Roles in namespaces that are to be looked after: these are not there.
            if document["metadata"].get("namespace") in {"a", "b"}:
                document["metadata"]["namespace"] = space
        text = yaml.dump_all(documents, Dumper=yaml.CSafeDumper)
        fake_testbed.kubectl(
            *("apply", "--server-side", "--dry-run=server", "--validate=strict"),
            *("--force-conflicts", "--field-manager=helm", "-f", "-"),
            input=text,
        )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("imag.tag=1",), "additional properties 'imag' not allowed"),
        (("kruise.enabled=false",), "additional properties 'kruise' not allowed"),
        (("replicaCount=two",), "at '/replicaCount': got string, want integer"),
        (("replicaCount=-1",), "at '/replicaCount': minimum: got -1, want 0"),
        (("uninstallPolicy=drop",), "value must be one of 'refuse', 'keep', 'cascade'"),
        (("gracefulShutdownTimeout=soon",), "at '/gracefulShutdownTimeout': 'soon' does not match"),
        (("watchNamespaces={Prod}",), "at '/watchNamespaces/0': 'Prod' does not match"),
        (("uninstallTimeoutSeconds=600",), "at '/uninstallTimeoutSeconds': maximum"),
        (("replicaCount=2", "leaderElection.enabled=false"), "leaderElection.enabled must be true"),
        (("leaderElection.shards=2", "leaderElection.enabled=false"), "Pods share the objects by"),
        (("leaderElection.shards=0",), "at '/leaderElection/shards': minimum: got 0, want 1"),
        (("metrics.secure=false", "metrics.requireRBAC=true"), "requires metrics.secure"),
        (("leaderElection.renewDeadline=1m",), "must be less than leaderElection.leaseDuration"),
        (("reconcilePeriod=10",), "at '/reconcilePeriod': got number, want string"),
        (("reconcilePeriod=soon",), "at '/reconcilePeriod': 'soon' does not match"),
        (("ignoreNamespaces={kube-system, b}",), "at '/ignoreNamespaces/1': ' b' does not match"),
        (("env.WATCH_NAMESPACE=a",), "env.WATCH_NAMESPACE: use watchNamespaces instead"),
        (
            ("env.DENY_LIST=a", "ignoreNamespaces={b}"),
            "env.DENY_LIST: use ignoreNamespaces instead",
        ),
        (("podSecurity=open",), "at '/podSecurity': value must be one of 'restricted', 'baseline'"),
        (
            ("podSecurity=privileged", "admissionPolicy.enabled=true"),
            "admissionPolicy.enabled requires podSecurity restricted or baseline",
        ),
        (
            ("env.MATRIXONE_POD_SECURITY=privileged",),
            "env.MATRIXONE_POD_SECURITY: use podSecurity instead",
        ),
    ],
)
def test_values_that_mean_nothing_are_refused(
    helm: Helm, values: tuple[str, ...], message: str
) -> None:
    with pytest.raises(HelmError, match=re.escape(message)):
        helm.template(OPERATOR, *values)


def test_every_value_is_in_the_schema_and_described() -> None:
    schema = json.loads((OPERATOR / "values.schema.json").read_text())
    text = (OPERATOR / "values.yaml").read_text()

    def compare(values: dict[str, Any], node: dict[str, Any], where: str) -> None:
        for key, value in values.items():
            path = f"{where}.{key}"
            assert key in node["properties"], f"{path} is not in the schema"
            described = re.search(rf"#.*\n *{key}:", text)
            inner = node["properties"][key]
            if isinstance(value, dict) and inner.get("properties") and key != "resources":
                compare(value, inner, path)
            else:
                assert described, f"{path} has no comment"

    compare(yaml.safe_load(text), schema, "")
    unset = set(schema["properties"]) - set(yaml.safe_load(text))
    assert unset == {"global"}  # set by a chart that this one is part of


def test_the_page_of_values_lists_all_of_them() -> None:
    page = (ROOT / "docs" / "reference" / "chart-values.md").read_text()

    def leaves(values: dict[str, Any], node: dict[str, Any], before: str = "") -> set[str]:
        found: set[str] = set()
        for key, value in values.items():
            inner = node["properties"][key]
            if isinstance(value, dict) and inner.get("properties") and key != "resources":
                found |= leaves(value, inner, f"{before}{key}.")
            else:
                found.add(f"{before}{key}")
        return found

    values = yaml.safe_load((OPERATOR / "values.yaml").read_text())
    schema = json.loads((OPERATOR / "values.schema.json").read_text())
    ours = page.partition("## matrixone-ansible-operator")[2].partition("## matrixone\n")[0]
    assert set(re.findall(r"^\| `([\w.]+)` \|", ours, flags=re.MULTILINE)) == leaves(values, schema)


def test_one_small_restricted_pod_by_default(helm: Helm) -> None:
    documents = helm.template(OPERATOR)
    deployment = find(documents, "Deployment", NAME)
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    template_labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert template_labels["app.kubernetes.io/name"] == "matrixone-operator"
    assert (
        template_labels["name"] == deployment["metadata"]["labels"]["name"] == "matrixone-operator"
    )
    assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 40
    made = container(documents)
    version = yaml.safe_load((OPERATOR / "Chart.yaml").read_text())["appVersion"]
    assert made["image"] == f"matrixorigin/matrixone-ansible-operator:{version}"
    assert {"--leader-elect", "--metrics-secure", "--metrics-require-rbac"} < set(made["args"])
    assert made["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "PodDisruptionBudget" not in kinds(documents)


def test_pods_share_objects_only_if_they_are_told_to(helm: Helm) -> None:
    usual = helm.template(OPERATOR)
    assert not [one for one in container(usual)["args"] if one.startswith("--shard")]
    documents = helm.template(OPERATOR, "replicaCount=3", "leaderElection.shards=16")
    image = container(documents)["image"]
    assert {"--leader-elect", "--shards=16", f"--shard-group={image}"} < set(
        container(documents)["args"]
    )
    role = find(documents, "Role", f"{NAME}-shards")
    assert [(rule["resources"], rule["verbs"]) for rule in role["rules"]] == [
        (["leases"], ["list", "patch", "delete"])
    ]
    assert f"{NAME}-shards" not in {one["metadata"]["name"] for one in usual}


def test_one_version_everywhere() -> None:
    """Chart, operator and collection are released together."""
    facts = yaml.safe_load((OPERATOR / "Chart.yaml").read_text())
    collection = yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"]
    assert facts["version"] == facts["appVersion"] == collection


def test_the_deployment_is_that_of_kustomize(helm: Helm) -> None:
    """What both say about the Pods is the same; the chart says more, because it has values."""
    base = yaml.safe_load((ROOT / "deploy" / "base" / "deployment.yaml").read_text())
    theirs = base["spec"]["template"]["spec"]
    ours = find(helm.template(OPERATOR), "Deployment")["spec"]["template"]["spec"]
    [mine], [other] = ours.pop("containers"), theirs.pop("containers")
    flags = {one.replace("matrixone-operator", NAME) for one in other.pop("args")}
    assert flags <= set(mine["args"])
    for port in other.pop("ports"):
        assert {**port, "protocol": "TCP"} in mine["ports"]
    for variable in other.pop("env"):
        assert variable in mine["env"]
    for probe in ("livenessProbe", "readinessProbe"):
        assert other.pop(probe).items() <= mine[probe].items()
    assert other.items() <= mine.items()
    for one in theirs.pop("topologySpreadConstraints"):
        del one["labelSelector"]
        assert one.items() <= ours["topologySpreadConstraints"][0].items()
    theirs["serviceAccountName"] = NAME
    assert theirs.items() <= ours.items()


def test_two_pods_have_a_budget_and_prefer_two_nodes(helm: Helm) -> None:
    documents = helm.template(OPERATOR, "replicaCount=2")
    budget = find(documents, "PodDisruptionBudget", NAME)
    labels = find(documents, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    pod = find(documents, "Deployment")["spec"]["template"]["spec"]
    [spread] = pod["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert spread["labelSelector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("values", "image"),
    [
        ((), "matrixorigin/matrixone-ansible-operator:0.2.0"),
        (("image.tag=1.2",), "matrixorigin/matrixone-ansible-operator:1.2"),
        (("globalRegistryPrefix=mirror.invalid/a/",), "mirror.invalid/a/matrixorigin/matrixone-"),
        ((f"image.digest=sha256:{'a' * 64}",), f"matrixone-ansible-operator@sha256:{'a' * 64}"),
    ],
)
def test_images(helm: Helm, values: tuple[str, ...], image: str) -> None:
    documents = helm.template(OPERATOR, *values)
    assert image in container(documents)["image"]
    for job in (one for one in documents if one["kind"] == "Job"):
        assert (
            job["spec"]["template"]["spec"]["containers"][0]["image"]
            == container(documents)["image"]
        )


@pytest.mark.parametrize(
    ("values", "environment"),
    [
        ((), {}),
        (("ignoreNamespaces={kube-system,old}",), {"DENY_LIST": "kube-system,old"}),
        (("env.DENY_LIST=old",), {"DENY_LIST": "old"}),
        (("reconcilePeriod=5m",), {"RECONCILE_PERIOD": "5m", "RECONCILE_WAIT": "5m"}),
        (("env.RECONCILE_WAIT=10s",), {"RECONCILE_WAIT": "10s"}),
        (
            ("reconcilePeriod=5m", "env.RECONCILE_WAIT=10s"),
            {"RECONCILE_PERIOD": "5m", "RECONCILE_WAIT": "10s"},
        ),
    ],
)
def test_what_is_looked_at_and_how_often(
    helm: Helm, values: tuple[str, ...], environment: dict[str, str]
) -> None:
    """The variables are those that watches.yaml reads, each once."""
    listed = [one for one in container(helm.template(OPERATOR, *values))["env"] if "value" in one]
    found = {one["name"]: one["value"] for one in listed}
    assert len(found) == len(listed)
    assert found.pop(VARIABLE) == "restricted"
    assert found.pop(IMAGE_VARIABLE).startswith("matrixorigin/")
    assert {name: found[name] for name in found if name != "ANSIBLE_GATHERING"} == environment
    watches = yaml.safe_load((ROOT / "watches.yaml").read_text())
    assert {one["ignoreNamespacesVariable"] for one in watches} == {"DENY_LIST"}
    assert {one["reconcilePeriodVariable"] for one in watches} - {""} == {
        "RECONCILE_PERIOD",
        "RECONCILE_WAIT",
    }


@pytest.mark.parametrize("level", ["restricted", "baseline"])
def test_the_admission_policy_has_the_operators_level(helm: Helm, level: str) -> None:
    assert "ValidatingAdmissionPolicy" not in kinds(helm.template(OPERATOR))
    values = ("admissionPolicy.enabled=true", f"podSecurity={level}", "onlyWatchReleasedNS=true")
    documents = helm.template(OPERATOR, *values)
    policy = find(documents, "ValidatingAdmissionPolicy")
    source = (ROOT / "deploy" / "policies" / "pod-security.yaml").read_text()
    rules = next(iter(yaml.safe_load_all(source)))["spec"]
    (restricted,) = (one for one in rules["variables"] if one["name"] == "restricted")
    restricted["expression"] = str(level == "restricted").lower()
    assert policy["spec"] == rules
    binding = find(documents, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]


def test_a_name_of_ones_own(helm: Helm) -> None:
    """Names change, the label that databases let in does not."""
    pod = find(helm.template(OPERATOR, "nameOverride=mo"), "Deployment", "rel-mo")
    labels = pod["spec"]["template"]["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "matrixone-operator"
    assert find(helm.template(OPERATOR, "nameOverride=rel"), "Deployment", "rel")
    assert find(helm.template(OPERATOR, "fullnameOverride=x"), "Deployment", "x")


def test_all_namespaces_need_a_cluster_role_with_the_operators_rights(helm: Helm) -> None:
    documents = helm.template(OPERATOR)
    assert find(documents, "ClusterRole", NAME)["rules"] == chosen(read(), Scope.WATCHED)
    assert find(documents, "Role", f"{NAME}-own")["rules"] == chosen(read(), Scope.OWN)


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (("onlyWatchReleasedNS=true",), {"ns"}),
        (("watchNamespaces={a,b}",), {"a", "b"}),
        (("watchNamespaces={a}", "onlyWatchReleasedNS=true"), {"a", "ns"}),
    ],
)
def test_namespaced_mode_shrinks_the_grant_and_the_watch(
    helm: Helm, values: tuple[str, ...], places: set[str]
) -> None:
    documents = helm.template(OPERATOR, *values)
    assert not {"ClusterRole", "ClusterRoleBinding"} & set(kinds(documents))
    rights = chosen(read(), Scope.WATCHED)
    granted = [one for one in documents if one["kind"] == "Role" and one["rules"] == rights]
    assert {one["metadata"]["namespace"] for one in granted} == places
    environment = {one["name"]: one.get("value") for one in container(documents)["env"]}
    assert environment["WATCH_NAMESPACE"] == ",".join(sorted(places))
    assert "--metrics-require-rbac" not in container(documents)["args"]


def test_webhooks_are_found_and_go_with_the_release(helm: Helm) -> None:
    """The Pods fill in configurations and certificates that belong to the release."""
    documents = helm.template(OPERATOR)
    name = f"{NAME}-webhook"
    service = find(documents, "Service", name)
    labels = find(documents, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert {f"--webhook-service={name}", f"--webhook-name={name}"} < set(
        container(documents)["args"]
    )
    for kind in ("Secret", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert {"data", "webhooks"}.isdisjoint(find(documents, kind, name))
    # Creation cannot be narrowed by name, all else is.
    for rule in find(documents, "ClusterRole", name)["rules"]:
        assert rule.get("resourceNames") == (None if rule["verbs"] == ["create"] else [name])


def test_two_releases_in_namespaced_mode_share_no_name_outside(helm: Helm) -> None:
    values = ("onlyWatchReleasedNS=true", "metrics.requireRBAC=true", "crds.enabled=false")

    def outside(space: str) -> set[str]:
        documents = helm.template(OPERATOR, *values, space=space)
        return {one["metadata"]["name"] for one in documents if "namespace" not in one["metadata"]}

    assert outside("one")
    assert not outside("one") & outside("two")


def test_bindings_name_roles_and_accounts_that_are_made(helm: Helm) -> None:
    documents = helm.template(OPERATOR, *EVERYTHING)
    roles = {(one["kind"], one["metadata"]["name"]) for one in documents}
    for binding in (one for one in documents if one["kind"].endswith("Binding")):
        reference = binding["roleRef"]
        assert (reference["kind"], reference["name"]) in roles
        [subject] = binding["subjects"]
        assert (subject["kind"], subject["name"]) in roles


def test_network_policy_ports_are_those_of_the_pods(helm: Helm) -> None:
    documents = helm.template(OPERATOR)
    policy = find(documents, "NetworkPolicy")["spec"]
    allowed = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert allowed == {port["name"] for port in container(documents)["ports"]}


def test_crds_stay_and_follow_from_crds(helm: Helm) -> None:
    documents = helm.template(OPERATOR, crds=True)
    made = {one["metadata"]["name"]: one for one in documents if "Custom" in one["kind"]}
    sources = [yaml.safe_load(path.read_text()) for path in (ROOT / "crds").glob("*.yaml")]
    assert len(made) == len(sources) > 5
    for source in sources:
        crd = made[source["metadata"]["name"]]
        assert crd["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        assert crd == source
    assert main(["--check"]) == 0


def metrics_in(text: str) -> set[str]:
    """Names of metrics in PromQL: what a selector or a range follows."""
    return set(re.findall(r"([a-z_]+)\{", text))


def known_metrics() -> set[str]:
    """Names of all series that the runner exports, and those of the roles."""
    names = {"up", *METRICS, *verdicts.METRICS, *pool_metrics.series(), bucket_status.METRIC}
    names |= set(certificate_metrics.METRICS)
    for metric in REGISTRY.collect():
        names.add(metric.name)
        if metric.type == "counter":
            names.add(f"{metric.name}_total")
        if metric.type == "histogram":
            names |= {f"{metric.name}_{part}" for part in ("bucket", "sum", "count")}
    return names


OF_KUBELETS = {"kubelet_volume_stats_available_bytes", "kubelet_volume_stats_capacity_bytes"}
"""What kubelets show of the volumes of PersistentVolumeClaims."""


def test_alerts_and_dashboard_use_metrics_that_exist(helm: Helm) -> None:
    documents = helm.template(OPERATOR, *EVERYTHING)
    [group] = find(documents, "PrometheusRule")["spec"]["groups"]
    alerts = " ".join(rule["expr"] for rule in group["rules"])
    dashboard = json.loads(
        find(documents, "ConfigMap", f"{NAME}-dashboard")["data"]["matrixone-operator.json"]
    )
    panels = " ".join(
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    )
    assert len(metrics_in(alerts)) >= 5
    assert len(metrics_in(panels)) >= 10
    assert metrics_in(alerts) | metrics_in(panels) <= known_metrics() | OF_KUBELETS


def test_the_monitor_finds_the_service(helm: Helm) -> None:
    documents = helm.template(OPERATOR, *EVERYTHING, "metrics.serviceMonitor.labels.release=prom")
    monitor = find(documents, "ServiceMonitor")
    service = find(documents, "Service", f"{NAME}-metrics")
    assert monitor["metadata"]["labels"]["release"] == "prom"
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}
    ports = {port["name"] for port in container(documents)["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


@pytest.fixture(scope="module")
def monitoring(fake_testbed: TestBed) -> None:
    """The Prometheus operator's own definitions of its kinds."""
    folder = module(MONITORING) / "example" / "prometheus-operator-crd"
    plurals = ("servicemonitors", "prometheusrules")
    define(fake_testbed, *(folder / f"monitoring.coreos.com_{one}.yaml" for one in plurals))


def test_unknown_fields_would_be_noticed(fake_testbed: TestBed, helm: Helm) -> None:
    """The dry run above is strict."""
    account = find(helm.template(OPERATOR), "ServiceAccount", NAME)
    account["surprise"] = 1
    account["metadata"]["namespace"] = "default"
    with pytest.raises(KubectlError, match="surprise"):
        fake_testbed.kubectl(
            *("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"),
            input=json.dumps(account),
        )
