# SPDX-License-Identifier: Apache-2.0
"""The stages as data: what each runs, how long it may take, and which paths it protects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class When(Enum):
    """When a stage runs in the gate; `make test-all` runs all of them."""

    ALWAYS = "always"
    TOUCHED = "when the change touches what it protects"
    NIGHTLY = "in make test-all only"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    Attributes:
        name: as said in the report, and as given on the command line.
        command: what runs, from the repository's root; for tests the arguments of pytest.
        limit: seconds after which it is ended and counts as failed.
        usual: seconds that it takes on two cores with warm caches; an added stage starts only if
            they still fit into the budget.
        when: see `When`.
        protects: prefixes of paths (a folder ends with ``/``) whose change adds the stage.
        is_tests: whether ``command`` holds arguments of pytest.
        ends_early: whether nothing else runs once it is red.
        needs_programs: whether it runs what the stage `BINARIES` builds or installs.
        needs: programs without which it cannot run, or ``root``.
        beside: the stage that it runs beside, since it mostly waits; alone where that does not run.
        variables: of its environment, beside those of the gate.
    """

    name: str
    command: Sequence[str]
    limit: int
    usual: int
    when: When = When.ALWAYS
    protects: Sequence[str] = ()
    is_tests: bool = False
    ends_early: bool = False
    needs_programs: bool = True
    needs: Sequence[str] = ()
    beside: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)


def _tests(*arguments: str, workers: int = 2) -> tuple[str, ...]:
    side_by_side = ("-n", str(workers), "--dist", "loadgroup") if workers > 1 else ()
    return (*arguments, *side_by_side)


AREAS = ("bench", "charts", "compat", "docs", "management", "memcached", "testbed")
"""Folders of tests with an API server that run when the change touches what they protect."""

BACKED_UP = (
    "tests/backup/program/test_real_actions.py",
    "tests/backup/program/test_real_database.py",
    "tests/snapshot/test_real_statements.py",
)
"""Backups and snapshots of a real database, which the stage of the protocol tests leaves out."""

LIFE = "tests/soak/test_life.py"
"""The long life of one cluster, which has a stage of its own."""

ON_1_3: Mapping[str, str] = {"MATRIXONE": "1.3", "MO_SERVICE": "", "MO_VERSION": ""}
"""The other MatrixOne that the test bed builds; its build counts for the first stage with it."""
_BUILD_SECONDS = 2400
"""What the first build of that one, or of the operator's image, may add to any stage with it."""

DEPLOYED: Mapping[str, tuple[int, Sequence[str]]] = {
    "backups": (1550, ("backup", "backup_schedule", "upgrade")),
    "changes": (1800, ("changes", "fencing", "scaling", "tls")),
    "compute": (1350, ("compute_nodes", "pools", "pools_traffic")),
    "faults": (1750, ("api_server_fault", "disk_faults", "lost_node", "object_store_faults")),
    "health": (2550, ("health",)),
    "install": (1400, ("demo", "deployment", "playbook", "shards", "slow_machine")),
    "plugin": (850, ("database_users", "databases", "kubectl_plugin")),
    "stores": (
        1850,
        ("adoption", "external_log_service", "log_stores", "object_storage", "one_database"),
    ),
}
"""Files of tests/e2e that a stage runs with the operator in the cluster, and its usual seconds."""

_FAKE = "api and not node"
_REAL = "node and not gate and not scenario"

BINARIES = "binaries"

STAGES: tuple[Stage, ...] = (
    Stage(BINARIES, ("dev/binaries.sh",), limit=2700, usual=5),
    Stage("lint", ("dev/lint.sh",), limit=600, usual=100, ends_early=True, needs_programs=False),
    Stage(
        "unit",
        _tests("-m", "not api and not rpc and not node", "tests", workers=4),
        # Three times as long as usual beside the builds of empty caches.
        limit=1500,
        usual=240,
        is_tests=True,
        ends_early=True,
    ),
    # A run that fails prints its seed, and how to repeat each point.
    Stage(
        "faults",
        ("dev/faults.sh",),
        limit=480,
        usual=80,
    ),
    Stage(
        "rpc",
        _tests("-m", "rpc", *(f"--ignore={file}" for file in BACKED_UP), "tests"),
        limit=600,
        usual=120,
        is_tests=True,
    ),
    # Before the API tests: after them there is no time left for what a change adds.
    Stage(
        "backup",
        _tests("-m", "rpc", *BACKED_UP),
        limit=900,
        usual=240,
        beside="rpc",
        when=When.TOUCHED,
        protects=(
            "docs/playbooks.md",
            "docs/snapshots.md",
            "playbooks/",
            "plugins/action/backup",
            "plugins/action/pitr.py",
            "plugins/action/read_back.py",
            "plugins/action/restore.py",
            "plugins/action/snapshot.py",
            "plugins/module_utils/backup/",
            "plugins/module_utils/clients/objectstore/",
            "plugins/module_utils/clients/sql",
            "plugins/module_utils/snapshot/",
            "plugins/module_utils/workload/storage.py",
            "plugins/plugin_utils/backup/",
            "plugins/plugin_utils/snapshot/",
            "testbed/binaries/matrixone-",
            "testbed/binaries/versitygw/",
            "testbed/object_store.py",
            "tests/backup/program/",
            "tests/snapshot/",
        ),
        is_tests=True,
    ),
    Stage(
        "api",
        _tests(*("-m", _FAKE, *(f"--ignore=tests/{area}" for area in AREAS), "tests"), workers=4),
        limit=3900,
        usual=1200,
        is_tests=True,
    ),
    Stage(
        "database", ("-m", "gate", "tests/e2e"), limit=900, usual=300, is_tests=True, beside="api"
    ),
    *(
        Stage(
            area,
            _tests("-m", _FAKE, f"tests/{area}"),
            limit=1200,
            usual=usual,
            when=When.TOUCHED,
            protects=protects,
            is_tests=True,
        )
        for area, usual, protects in (
            ("bench", 60, ("bench/", "demo/", "tests/bench/")),
            ("compat", 90, ("compat/", "tests/compat/")),
            ("charts", 90, ("charts/", "deploy/", "tests/charts/")),
            ("docs", 300, ("docs/", "README.md", "tests/docs/")),
            ("management", 300, ("charts/matrixone/", "docs/", "tests/management/")),
            ("memcached", 110, ("examples/memcached/", "demo/", "tests/memcached/")),
            ("testbed", 180, ("testbed/", "tests/testbed/")),
        )
    ),
    Stage(
        "pages",
        ("dev/docs.sh",),
        limit=300,
        usual=40,
        when=When.TOUCHED,
        needs_programs=False,
        protects=(
            "docs/",
            "README.md",
            "CODE_OF_CONDUCT.md",
            "CONTRIBUTING.md",
            "bench/README.md",
            "testbed/README.md",
            "dev/docs.sh",
        ),
    ),
    Stage(
        "docsite",
        ("dev/docsite.sh",),
        limit=300,
        usual=60,
        when=When.TOUCHED,
        needs_programs=False,
        protects=(
            "docs/docsite/",
            "plugins/modules/",
            "plugins/filter/",
            "plugins/test/",
            "plugins/inventory/",
            "plugins/doc_fragments/",
            "dev/docsite.sh",
        ),
    ),
    Stage(
        "release",
        ("dev/release.sh",),
        limit=900,
        usual=90,
        when=When.TOUCHED,
        needs_programs=False,
        protects=(
            "galaxy.yml",
            "meta/",
            "playbooks/",
            "changelogs/",
            "plugins/modules/",
            "plugins/inventory/",
            "dev/release.sh",
        ),
    ),
    Stage(
        "sanity",
        ("dev/sanity.sh",),
        limit=1500,
        usual=150,
        when=When.TOUCHED,
        needs_programs=False,
        protects=("plugins/", "meta/", "tests/config.yml", "dev/sanity.sh"),
    ),
    Stage(
        "molecule",
        ("dev/molecule.sh", "default"),
        limit=900,
        usual=150,
        when=When.TOUCHED,
        protects=("molecule/", "playbooks/", "roles/", "dev/molecule.sh"),
    ),
    Stage(
        "ansible-core",
        ("dev/ansible_versions.sh",),
        limit=3000,
        usual=1200,
        when=When.TOUCHED,
        protects=("src/ansible_operator/engine/", "dev/ansible_versions.sh", "dev/constraints.txt"),
    ),
    Stage(
        "node",
        ("-m", _REAL, "tests"),
        limit=3600,
        usual=1500,
        when=When.TOUCHED,
        protects=(
            "tests/e2e/",
            "roles/",
            "plugins/module_utils/logservice/",
            "plugins/module_utils/transaction/",
            "plugins/module_utils/compute/",
            "plugins/module_utils/proxy/",
        ),
        is_tests=True,
    ),
    Stage(
        "kind",
        ("molecule", "test", "--scenario-name", "kind"),
        limit=1800,
        usual=600,
        when=When.NIGHTLY,
        needs=("docker", "kind"),
    ),
    Stage(
        "database-1.3",
        ("-m", "gate", "tests/e2e"),
        limit=900 + _BUILD_SECONDS,
        usual=300,
        when=When.NIGHTLY,
        is_tests=True,
        needs=("root",),
        variables=ON_1_3,
    ),
    Stage(
        "node-1.3",
        (
            *("-m", "node and not scenario", "tests/early"),
            "tests/clients/matrixone/test_database.py",
            *("tests/docs/test_pages.py", "tests/e2e/test_playbook.py"),
            "tests/testbed/test_real_node.py",
        ),
        limit=2400 + _BUILD_SECONDS,
        usual=900,
        when=When.NIGHTLY,
        is_tests=True,
        needs=("root",),
        variables=ON_1_3,
    ),
    Stage(
        "backup-1.3",
        ("-m", "rpc", *BACKED_UP),
        limit=900 + _BUILD_SECONDS,
        usual=240,
        when=When.NIGHTLY,
        is_tests=True,
        variables=ON_1_3,
    ),
    *(
        Stage(
            f"deployed-{part}",
            ("make", "e2e", "TESTS=" + " ".join(f"tests/e2e/test_{file}.py" for file in files)),
            limit=2 * usual + _BUILD_SECONDS,
            usual=usual,
            when=When.NIGHTLY,
            needs=("root",),
        )
        for part, (usual, files) in DEPLOYED.items()
    ),
    Stage(
        "scenarios",
        (
            *("-m", "node and scenario"),
            *(f"--ignore=tests/{folder}" for folder in ("e2e", "eda", "soak")),
            "tests",
        ),
        limit=7200,
        usual=1800,
        when=When.NIGHTLY,
        is_tests=True,
        needs=("root",),
    ),
    Stage(
        "soak",
        ("-m", "node and scenario", f"--ignore={LIFE}", "tests/soak"),
        limit=3600,
        usual=900,
        when=When.NIGHTLY,
        is_tests=True,
    ),
    # A life that ends early prints its seed, its history, and where the rest of it is.
    Stage(
        "life",
        ("-m", "node and scenario", LIFE),
        limit=3600 + _BUILD_SECONDS,
        usual=1500,
        when=When.NIGHTLY,
        is_tests=True,
        needs=("root",),
    ),
    Stage(
        "eda",
        ("-m", "node and scenario", "tests/eda"),
        limit=900,
        usual=90,
        when=When.TOUCHED,
        protects=("extensions/", "playbooks/notify.yml", "playbooks/verify.yml", "dev/rulebook.sh"),
        is_tests=True,
        needs=("java",),
    ),
    Stage(
        "wide",
        ("dev/wide.sh",),
        limit=3600,
        usual=1200,
        when=When.NIGHTLY,
    ),
)

GATED = (
    "tests/",
    "plugins/",
    "roles/",
    "src/",
    "crds/",
    "examples/",
    "faults/",
    "image/",
    "demo/",
    "COPYING",
    "LICENSE",
)
"""What the stages that always run protect; a path that nobody names adds every stage."""
