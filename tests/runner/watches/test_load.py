# SPDX-License-Identifier: Apache-2.0
"""Watches files: defaults, fields, lenience, and every error text."""

from pathlib import Path

import pytest
import structlog.testing

from ansible_operator.errors import ConfigError
from ansible_operator.watches import (
    Admission,
    DependentAnnotations,
    Isolation,
    KindName,
    Members,
    Probe,
    Reference,
    Requirement,
    Retry,
    Selector,
    Watch,
    load,
)
from ansible_operator.watches.document import parse

HEAD = "{group: app.example.com, version: v1alpha1, kind: Database"


MERGES = {
    "keys after the merge win": ("{<<: *one, b: 3}", {"a": 1, "b": 3}),
    "the merge wins over keys before it": ("{b: 3, <<: *one}", {"a": 1, "b": 2}),
    "the first of several mappings wins": ("{<<: [*two, *one]}", {"a": 1, "b": 9, "c": 4}),
    "null is a value": ("{<<: *one, b: null}", {"a": 1, "b": None}),
    "merged mappings may merge": ("{<<: *three}", {"a": 1, "b": 5}),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "playbook.yml").write_text("[]")
    (tmp_path / "roles" / "database").mkdir(parents=True)
    return tmp_path


def load_text(project: Path, text: str, environ: dict[str, str] | None = None) -> list[Watch]:
    file = project / "watches.yaml"
    file.write_text(text)
    return load(file, environ=environ or {}, cwd=project)


def entry(rest: str) -> str:
    return f"- {HEAD}, {rest}}}\n"


@pytest.mark.parametrize("case", MERGES)
def test_merge_keys_as_in_go(case: str) -> None:
    """What sigs.k8s.io/yaml 1.4.0, which the Go runner reads with, makes of the same text."""
    written, expected = MERGES[case]
    anchors = "- &one {a: 1, b: 2}\n- &two {b: 9, c: 4}\n- &three {<<: *one, b: 5}\n"
    assert parse(f"{anchors}- {written}\n")[-1] == expected


def test_defaults(project: Path) -> None:
    (watch,) = load_text(project, entry("role: database"))
    assert watch == Watch(kind=KindName("app.example.com", "v1alpha1", "Database"), play=watch.play)
    assert watch.play.role == str(project / "roles" / "database")
    assert watch.play.role_name == "database"
    assert watch.max_runner_artifacts == 20
    assert watch.manage_status
    assert watch.watch_dependent_resources
    assert watch.snake_case_parameters
    assert watch.mark_unsafe, "what comes from an object is data unless a watch says otherwise"
    assert not watch.watch_cluster_scoped_resources
    assert not watch.all_namespaces_only
    assert not watch.watch_annotations_changes
    assert not watch.watch_dependent_status
    assert watch.watch_dependent_annotations is DependentAnnotations.ALL
    assert watch.controller_name == "database-v1alpha1-controller"


@pytest.mark.parametrize(
    ("value", "counting"),
    [("true", "OTHERS"), ("no", "NONE"), ("all", "ALL")],
)
def test_which_annotations_of_dependents_count(project: Path, value: str, counting: str) -> None:
    (watch,) = load_text(project, entry(f"role: database, watchDependentAnnotations: {value}"))
    assert watch.watch_dependent_annotations is DependentAnnotations[counting]
    with pytest.raises(ConfigError, match=r"WatchDependentAnnotations of type bool"):
        load_text(project, entry("role: database, watchDependentAnnotations: some"))


def test_all_fields(project: Path) -> None:
    text = """
- group: cache.example.com
  version: v1alpha1
  kind: Memcached
  role: database
  vars: {flavour: "${FLAVOUR}"}
  maxRunnerArtifacts: 30
  reconcilePeriod: 5m
  manageStatus: false
  watchDependentResources: no
  watchClusterScopedResources: Y
  allNamespacesOnly: true
  watchAnnotationsChanges: on
  snakeCaseParameters: false
  markUnsafe: false
  selector:
    matchLabels: {a: b}
    matchExpressions: [{key: tier, operator: In, values: [gold]}]
  blacklist: [{group: "", version: v1, kind: ConfigMap}]
  finalizer: {name: cache.example.com/finalizer, vars: {state: absent}, runTimeout: 1h}
  watchDependentStatus: true
  watchDependentAnnotations: false
  keepManagedFields: false
  references: [{group: g, version: v1, kind: K, name: spec.other.name}]
  members:
    - {version: v1, kind: Pod, matchLabels: {b: c, a: b}, name: owner, annotations: [x]}
    - {group: g, version: v1, kind: Request, spec: true}
  maxConcurrentReconciles: 3
  runTimeout: 90s
  retry: {initialDelay: 1s, maxDelay: 1m}
  admission: [a.b.default_memcached]
"""
    (watch,) = load_text(project, text, {"FLAVOUR": "vanilla"})
    assert watch.vars == {"flavour": "vanilla"}
    assert watch.max_runner_artifacts == 30
    assert watch.reconcile_period == 300
    assert not watch.manage_status
    assert not watch.watch_dependent_resources
    assert watch.watch_cluster_scoped_resources
    assert watch.all_namespaces_only
    assert watch.watch_annotations_changes
    assert not watch.snake_case_parameters
    assert not watch.mark_unsafe
    assert watch.selector == Selector((("a", "b"),), (Requirement("tier", "In", ("gold",)),))
    assert watch.blacklist == {KindName("", "v1", "ConfigMap")}
    assert watch.finalizer is not None
    assert watch.finalizer.name == "cache.example.com/finalizer"
    assert watch.finalizer.vars == {"state": "absent"}
    assert watch.finalizer.run_timeout == 3600
    assert watch.watch_dependent_status
    assert watch.watch_dependent_annotations is DependentAnnotations.NONE
    assert not watch.keep_managed_fields
    assert watch.references == (Reference(KindName("g", "v1", "K"), "spec.other.name"),)
    assert watch.members == (
        Members(KindName("", "v1", "Pod"), "a=b,b=c", "owner", ("x",)),
        Members(KindName("g", "v1", "Request"), "", "", spec=True),
    )
    assert watch.max_concurrent_reconciles == 3
    assert watch.run_timeout == 90
    assert watch.retry == Retry(1, 60)
    names = ("a.b.default_memcached",)
    assert watch.admission == Admission(default=names, validate=names)
    assert watch.unknown_keys == ()


@pytest.mark.parametrize("text", ["", "[]", "# nothing\n"])
def test_no_entries_are_legal(project: Path, text: str) -> None:
    assert load_text(project, text) == []


def test_keys_match_in_any_case(project: Path) -> None:
    (watch,) = load_text(project, entry("PLAYBOOK: playbook.yml, manageSTATUS: false"))
    assert not watch.manage_status


@pytest.mark.parametrize(
    ("text", "playbook"),
    [
        ("playbook: playbook.yml, PlayBook: none.yml", "playbook.yml"),
        ("PlayBook: none.yml, playbook: playbook.yml", "playbook.yml"),
        ("PLAYBOOK: none.yml, playBook: playbook.yml", "playbook.yml"),
        ("Playbook: playbook.yml, playbook: null", "playbook.yml"),
    ],
)
def test_of_two_keys_the_one_with_the_smaller_capitals_wins(
    project: Path, text: str, playbook: str
) -> None:
    """Go decodes JSON, whose keys are sorted."""
    (watch,) = load_text(project, entry(text))
    assert watch.play.playbook == str(project / playbook)


def test_variables_and_flags_in_two_keys(project: Path) -> None:
    """Go decodes both objects into one; null makes a flag its default again."""
    text = "vars: {a: 1, b: 2}, Vars: {a: 3, c: 4}, ManageStatus: false, manageStatus: null"
    (watch,) = load_text(project, entry(f"role: database, {text}"))
    assert watch.vars == {"a": 1, "b": 2, "c": 4}
    assert watch.manage_status


@pytest.mark.parametrize(
    ("value", "expected"), [("5.0", 5), ("1e2", 100), ("08", 8), ("0x10", 16), ("5_0", 50)]
)
def test_whole_numbers(project: Path, value: str, expected: int) -> None:
    (watch,) = load_text(project, entry(f"role: database, maxRunnerArtifacts: {value}"))
    assert watch.max_runner_artifacts == expected


@pytest.mark.parametrize("value", ["5.5", "1e30", "'5'", "true", ".inf", "!unsafe 5"])
def test_what_is_no_whole_number(project: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"MaxRunnerArtifacts of type int"):
        load_text(project, entry(f"role: database, maxRunnerArtifacts: {value}"))


def test_a_role_by_its_path(project: Path) -> None:
    text = "role: roles/database, finalizer: {name: f, role: ./roles/database}"
    (watch,) = load_text(project, entry(text))
    assert watch.finalizer is not None
    for play in (watch.play, watch.finalizer.play):
        assert (play.role, play.role_name) == (str(project / "roles" / "database"), "database")


def test_unknown_keys_are_reported_and_ignored(project: Path) -> None:
    with structlog.testing.capture_logs() as lines:
        (watch,) = load_text(project, entry("role: database, maxWorkers: 5, ansibleVerbosity: 4"))
    assert watch.unknown_keys == ("maxWorkers", "ansibleVerbosity")
    assert any(line.get("keys") == watch.unknown_keys for line in lines)


def test_zero_artifacts_mean_the_default_and_negative_ones_pass(project: Path) -> None:
    assert (
        load_text(project, entry("role: database, maxRunnerArtifacts: 0"))[0].max_runner_artifacts
        == 20
    )
    assert (
        load_text(project, entry("role: database, maxRunnerArtifacts: -1"))[0].max_runner_artifacts
        == -1
    )


def test_a_playbook_wins_over_a_role(project: Path) -> None:
    (watch,) = load_text(project, entry("role: nowhere, playbook: playbook.yml"))
    assert watch.play.playbook == str(project / "playbook.yml")


def test_variables_are_expanded_everywhere(project: Path) -> None:
    text = """
- group: app.example.com
  version: $VERSION
  kind: Database
  playbook: ${PLAY}
  selector:
    matchLabels: {"$NAME": "$VALUE"}
    matchExpressions: [{key: $KEY, operator: Exists}]
  vars: {left: "$MISSING"}
"""
    environ = {"VERSION": "v2", "PLAY": "playbook.yml", "NAME": "n", "VALUE": "v", "KEY": "k"}
    (watch,) = load_text(project, text, environ)
    assert watch.kind.version == "v2"
    assert watch.selector == Selector((("n", "v"),), (Requirement("k", "Exists"),))
    assert watch.vars == {"left": "${MISSING}"}


PLAY = "playbook: playbook.yml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            entry(PLAY) * 2,
            "duplicate GVK: app.example.com/v1alpha1, Kind=Database",
        ),
        (
            f"- {{group: app.example.com, kind: Database, {PLAY}}}",
            "invalid GVK: app.example.com/, Kind=Database: version must not be empty",
        ),
        (
            f"- {{group: app.example.com, version: v1alpha1, {PLAY}}}",
            "invalid GVK: app.example.com/v1alpha1, Kind=: kind must not be empty",
        ),
        (
            f"- {{kind: Secret, version: v1, {PLAY}}}\n" * 2,
            "duplicate GVK: /v1, Kind=Secret",
        ),
        (entry(f"{PLAY}, reconcilePeriod: invalid"), 'time: invalid duration "invalid"'),
        (
            entry(f"{PLAY}, reconcilePeriod: 1d"),
            'time: unknown unit "d" in duration "1d"',
        ),
        (
            entry(f"{PLAY}, reconcilePeriod: 0"),
            "cannot unmarshal number into Go struct field alias.ReconcilePeriod of type string",
        ),
        (entry(f'{PLAY}, manageStatus: "yes"'), "cannot unmarshal string into Go"),
        (entry(f"{PLAY}, manageStatus: invalid"), "cannot unmarshal string into Go"),
        (
            entry(f"{PLAY}, reportLastRun: true, manageStatus: false"),
            "reportLastRun requires manageStatus",
        ),
        (entry("vars: {}"), "must specify Role or Playbook"),
        (entry("playbook: nope.yml"), "playbook: {cwd}/nope.yml was not found"),
        (entry("role: nope"), "role: nope was not found"),
        (entry("role: ns.col.nope"), "role: ns.col.nope was not found"),
        (entry(f"{PLAY}, finalizer: {{vars: {{a: b}}}}"), "finalizer must have name"),
        (entry(f"{PLAY}, finalizer: {{name: x}}"), "must specify Role or Playbook"),
        (entry(f"{PLAY}, finalizer: {{name: x, role: nope}}"), "role: nope was not found"),
        (
            entry(f"{PLAY}, finalizer: {{name: x, playbook: no.yml}}"),
            "playbook: {cwd}/no.yml was not found",
        ),
        (
            entry(f"{PLAY}, finalizer: {{name: x, role: nope, vars: {{a: b}}}}"),
            "role: nope was not found",
        ),
        ("hello", "cannot unmarshal string into Go value of type []watches.alias"),
        ("a: b", "cannot unmarshal object into Go value of type []watches.alias"),
        ("- [", "error converting YAML to JSON: yaml:"),
        (entry(f"{PLAY}, retry: {{initialDelay: 0s}}"), "retry: 0 < initialDelay <= maxDelay"),
        (entry(f"{PLAY}, runTimeout: soon"), 'time: invalid duration "soon"'),
        (entry(f"{PLAY}, runTimeout: '5'"), 'time: missing unit in duration "5"'),
        (entry(f"{PLAY}, runTimeout: 5"), "RunTimeout of type string"),
        (entry(f"{PLAY}, runTimeout: -5s"), "runTimeout must not be negative"),
        (
            entry(f"{PLAY}, finalizer: {{name: x, vars: {{a: b}}, runTimeout: -5s}}"),
            "finalizer: runTimeout must not be negative",
        ),
        (entry(f"{PLAY}, references: [{{kind: X}}]"), "invalid reference"),
        (
            entry(f"{PLAY}, references: [{{version: v1, kind: X, name: a, poll: 10ms}}]"),
            "invalid reference /v1, Kind=X: poll must be at least 1s",
        ),
        (
            entry(
                f"{PLAY}, references: "
                "[{version: v1, kind: X, name: a, poll: 5s, conditions: [Ready]}]"
            ),
            "and excludes conditions",
        ),
        (entry(f"{PLAY}, members: [{{version: v1, kind: X}}]"), "invalid members /v1, Kind=X"),
    ],
)
def test_errors(project: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(project, text)
    assert expected.replace("{cwd}", str(project)) in str(caught.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with (
        structlog.testing.capture_logs() as lines,
        pytest.raises(ConfigError, match="cannot be read"),
    ):
        load(tmp_path / "none.yaml")
    assert lines[0]["event"] == "Failed to get config file"


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "watches.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="cannot be read: it is not UTF-8"):
        load(file)


@pytest.mark.parametrize(
    "requirement",
    [Requirement("k", "Nope", ("v",)), Requirement("k", "In"), Requirement("k", "Exists", ("v",))],
)
def test_selectors_with_unknown_operators_are_refused(requirement: Requirement) -> None:
    with pytest.raises(ConfigError, match="error constructing predicate from watches selector"):
        Selector((), (requirement,)).validate()


@pytest.mark.parametrize(
    ("operator", "values", "labels", "expected"),
    [
        ("In", ("a", "b"), {"k": "a"}, True),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {}, True),
        ("NotIn", ("a",), {"k": "a"}, False),
        ("Exists", (), {"k": ""}, True),
        ("Exists", (), {}, False),
        ("DoesNotExist", (), {"k": "a"}, False),
        ("DoesNotExist", (), {"x": "a"}, True),
    ],
)
def test_selectors_match(
    operator: str, values: tuple[str, ...], labels: dict[str, str], expected: bool
) -> None:
    selector = Selector((), (Requirement("k", operator, values),))
    selector.validate()
    assert selector.matches(labels) is expected
    assert Selector().matches(labels)


def test_unknown_keys_are_refused_strictly(project: Path) -> None:
    file = project / "watches.yaml"
    file.write_text(entry("role: database, maxWorkers: 5, typo: 1"))
    with pytest.raises(ConfigError, match=r"unknown keys of .*Kind=Database: maxWorkers, typo"):
        load(file, environ={}, cwd=project, strict=True)


def test_words_and_numbers_without_quotes_are_text_where_text_is_meant(project: Path) -> None:
    labels = "matchLabels: {a: yes, b: 2, C: x, c: 1.0, d: null}"
    expression = "matchExpressions: [{key: 1, operator: In, values: [1.5, no, 08]}]"
    text = (
        "- {group: app.example.com, version: 1, kind: Y, role: database, "
        f"selector: {{{labels}, {expression}}}}}"
    )
    (watch,) = load_text(project, text)
    assert watch.kind == KindName("app.example.com", "1", "true")
    assert watch.selector == Selector(
        (("a", "true"), ("b", "2"), ("C", "x"), ("c", "1"), ("d", "")),
        (Requirement("1", "In", ("1.5", "false", "8")),),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a, b]", Admission(default=("a", "b"), validate=("a", "b"))),
        ("{validate: [a]}", Admission(validate=("a",))),
        (
            "{default: [a], operations: [DELETE], subresources: [scale], failurePolicy: Fail}",
            Admission(
                default=("a",),
                operations=("DELETE",),
                subresources=("scale",),
                failure_policy="Fail",
            ),
        ),
        ("null", Admission()),
        ("{}", Admission()),
    ],
)
def test_admission(project: Path, text: str, expected: Admission) -> None:
    (watch,) = load_text(project, entry(f"role: database, admission: {text}"))
    assert watch.admission == expected
    assert bool(watch.admission) == bool(expected.default or expected.validate)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name", "cannot unmarshal string into Go struct field alias.Admission"),
        ("{validate: a}", "cannot unmarshal string into Go struct field Admission.Validate"),
        ("{validation: [a]}", "admission: unknown keys validation"),
        ("{operations: [CONNECT]}", "operations are CREATE, UPDATE, DELETE, not CONNECT"),
        ("{failurePolicy: Maybe}", "failurePolicy is Ignore or Fail, not Maybe"),
    ],
)
def test_unusable_admission(project: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_text(project, entry(f"role: database, admission: {text}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("my.tools.settled", "my.tools.settled"), ("null", ""), ('""', "")],
)
def test_precheck(project: Path, text: str, expected: str) -> None:
    (watch,) = load_text(project, entry(f"role: database, precheck: {text}"))
    assert watch.precheck == expected


@pytest.mark.parametrize("text", ["settled", "tools.settled", '"my.tools.settled or true"'])
def test_unusable_precheck(project: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="is not the full name of a plugin"):
        load_text(project, entry(f"role: database, precheck: {text}"))


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("{test: my.tools.alive}", {}, Probe("my.tools.alive", 10)),
        ("{test: my.tools.alive, period: 1m}", {}, Probe("my.tools.alive", 60)),
        ("{test: my.tools.alive, periodVariable: P}", {}, Probe("my.tools.alive", 10)),
        ("{test: my.tools.alive, periodVariable: P}", {"P": "3s"}, Probe("my.tools.alive", 3)),
        ("null", {}, Probe()),
    ],
)
def test_probe(project: Path, text: str, environ: dict[str, str], expected: Probe) -> None:
    (watch,) = load_text(project, entry(f"role: database, probe: {text}"), environ)
    assert watch.probe == expected
    assert bool(watch.probe) is bool(expected.test)


@pytest.mark.parametrize("period", ["0", "0s"])
def test_a_period_of_zero_switches_a_probe_off(project: Path, period: str) -> None:
    probe = "{test: my.tools.alive, periodVariable: P}"
    (watch,) = load_text(project, entry(f"role: database, probe: {probe}"), {"P": period})
    assert not watch.probe


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{test: alive}", "probe: alive is not the full name of a plugin"),
        ("{period: 3s}", "probe: test must name a test plugin"),
        ("{test: my.tools.alive, every: 3s}", "probe: unknown keys every"),
        ("{test: my.tools.alive, period: soon}", "soon"),
    ],
)
def test_unusable_probe(project: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        load_text(project, entry(f"role: database, probe: {text}"))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("", Isolation.RUN),
        (", isolation: null", Isolation.RUN),
        (", isolation: run", Isolation.RUN),
        (", isolation: shared", Isolation.SHARED),
    ],
)
def test_isolation(project: Path, key: str, expected: Isolation) -> None:
    (watch,) = load_text(project, entry(f"role: database{key}"))
    assert watch.isolation is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Shared", "isolation is run or shared, not Shared"),
        ("none", "isolation is run or shared, not none"),
        ("true", "Isolation of type string"),
        ("[run]", "Isolation of type string"),
    ],
)
def test_unusable_isolation(project: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_text(project, entry(f"role: database, isolation: {text}"))


@pytest.mark.parametrize(
    ("environ", "period", "ignored"),
    [
        ({}, 60.0, set()),
        ({"WAIT": "10s", "DENIED": "kube-system, default,,"}, 10.0, {"kube-system", "default"}),
        ({"WAIT": "", "DENIED": ""}, 60.0, set()),
    ],
)
def test_environment_variables_that_an_entry_names(
    project: Path, environ: dict[str, str], period: float, ignored: set[str]
) -> None:
    rest = "reconcilePeriod: 60s, reconcilePeriodVariable: WAIT, ignoreNamespacesVariable: DENIED"
    (watch,) = load_text(project, entry(f"role: database, {rest}"), environ)
    assert watch.reconcile_period == period
    assert watch.ignored_namespaces == ignored
    assert watch.unknown_keys == ()


def test_a_period_without_unit_names_the_variable(project: Path) -> None:
    text = entry("role: database, reconcilePeriodVariable: WAIT")
    with pytest.raises(ConfigError, match=r'WAIT: time: missing unit in duration "10"; write'):
        load_text(project, text, {"WAIT": "10"})
