# SPDX-License-Identifier: Apache-2.0
"""The bundle for the Operator Lifecycle Manager: ``python -m deploy.generate.bundle FOLDER``."""

import argparse
import base64
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from deploy.generate.descriptors import spec_descriptors, status_descriptors
from deploy.generate.rights import Scope, chosen, read
from deploy.generate.roles import NAME

ROOT = Path(__file__).resolve().parents[2]
CHANNEL = "alpha"
_ANNOTATIONS = {
    "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
    "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
    "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
    "operators.operatorframework.io.bundle.package.v1": NAME,
    "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
    "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
}
# Kinds that the manager installs from a bundle beside CRDs; it makes the ServiceAccount itself.
_BESIDE = (
    "base/metrics_service.yaml",
    "base/disruption_budget.yaml",
    "components/cluster-wide/users.yaml",
    "components/prometheus/reader.yaml",
)

Json = dict[str, Any]


def files(root: Path, image: str) -> dict[str, str]:
    """Every file of the bundle by its path.

    Args:
        root: the repository.
        image: of the operator; left empty, the one of the Deployment.
    """
    crds = [_one(path) for path in sorted((root / "crds").glob("*.yaml"))]
    made = {f"{crd['metadata']['name']}.crd.yaml": crd for crd in crds}
    made[f"{NAME}.clusterserviceversion.yaml"] = service_version(root, crds, image)
    for one in _beside(root / "deploy"):
        made[f"{one['metadata']['name']}.{one['kind'].lower()}.yaml"] = one
    texts = {f"manifests/{name}": _dumped(one) for name, one in made.items()}
    texts["metadata/annotations.yaml"] = _dumped({"annotations": _ANNOTATIONS})
    labels = "".join(f"LABEL {key}={value}\n" for key, value in _ANNOTATIONS.items())
    texts["bundle.Dockerfile"] = (
        f"FROM scratch\n{labels}COPY manifests /manifests/\nCOPY metadata /metadata/\n"
    )
    return texts


def service_version(root: Path, crds: list[Json], image: str) -> Json:
    """The ClusterServiceVersion: who the operator is, what it runs, needs and owns."""
    version = _one(root / "galaxy.yml")["version"]
    deployment = _deployment(root, image)
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    made = _one(root / "deploy" / "olm" / "clusterserviceversion.yaml")
    made["metadata"]["name"] = f"{NAME}.v{version}"
    made["metadata"]["annotations"] |= {
        "alm-examples": json.dumps(examples(root, crds), indent=2),
        "containerImage": image,
    }
    icon = base64.b64encode((root / "deploy" / "olm" / "icon.svg").read_bytes()).decode()
    made["spec"] |= {
        "version": version,
        "icon": [{"base64data": icon, "mediatype": "image/svg+xml"}],
        "install": {"strategy": "deployment", "spec": _install(root, deployment)},
        "customresourcedefinitions": {"owned": [owned(crd) for crd in crds]},
        "relatedImages": [{"name": NAME, "image": image}],
    }
    return made


def _install(root: Path, deployment: Json) -> Json:
    """The Deployment and its rights; the manager grants the first kind where it is to watch."""
    rights = read(root / "deploy" / "rights.yaml")
    watched = [*chosen(rights, Scope.WATCHED), *chosen(rights, Scope.OWN)]
    everywhere = [
        rule for part in ("metrics", "backups") for rule in chosen(rights, Scope.CLUSTER, part)
    ]
    return {
        "permissions": [{"serviceAccountName": NAME, "rules": watched}],
        "clusterPermissions": [{"serviceAccountName": NAME, "rules": everywhere}],
        "deployments": [
            {
                "name": NAME,
                "label": deployment["metadata"]["labels"],
                "spec": deployment["spec"],
            }
        ],
    }


def _deployment(root: Path, image: str) -> Json:
    made = _one(root / "deploy" / "base" / "deployment.yaml")
    [container] = made["spec"]["template"]["spec"]["containers"]
    container["image"] = image or container["image"]
    [own] = [one for one in container["env"] if one["name"] == "OPERATOR_IMAGE"]
    own["value"] = container["image"]
    container["args"].append("--metrics-require-rbac")
    path = "metadata.annotations['olm.targetNamespaces']"
    watch = {"name": "WATCH_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    container.setdefault("env", []).append(watch)
    return made


def owned(crd: Json) -> Json:
    """The description of a kind in the ClusterServiceVersion."""
    spec = crd["spec"]
    [version] = spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    properties = schema["properties"]
    names = ("Deployment", "StatefulSet", "Service", "ConfigMap", "Pod", "PersistentVolumeClaim")
    return {
        "name": crd["metadata"]["name"],
        "version": version["name"],
        "kind": spec["names"]["kind"],
        "displayName": spec["names"]["kind"],
        "description": schema["description"],
        "resources": [{"kind": name, "name": "", "version": "v1"} for name in names],
        "specDescriptors": spec_descriptors(properties.get("spec", {})),
        "statusDescriptors": status_descriptors(properties.get("status", {})),
    }


def examples(root: Path, crds: Iterable[Json]) -> list[Json]:
    """One example of every kind, as far as there is one."""
    wanted = {(crd["spec"]["group"], crd["spec"]["names"]["kind"]) for crd in crds}
    # The smallest of its kind comes first.
    paths = sorted((root / "examples").rglob("*.yaml"), key=lambda path: path.stat().st_size)
    found: dict[tuple[str, str], Json] = {}
    for path in paths:
        for one in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if isinstance(one, dict) and "apiVersion" in one:
                key = (one["apiVersion"].partition("/")[0], one["kind"])
                if key in wanted:
                    found.setdefault(key, one)
    return [found[key] for key in sorted(found)]


def _beside(deploy: Path) -> Iterator[Json]:
    for path in _BESIDE:
        yield from yaml.safe_load_all((deploy / path).read_text(encoding="utf-8"))


def _one(path: Path) -> Json:
    document: Json = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return document


def _dumped(document: Json) -> str:
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=110)


def main(arguments: list[str] | None = None) -> int:
    """Writes the bundle into a folder, which it replaces."""
    parser = argparse.ArgumentParser(prog="python -m deploy.generate.bundle", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--image", default="", help="of the operator")
    options = parser.parse_args(arguments)
    shutil.rmtree(options.folder, ignore_errors=True)
    for path, text in files(ROOT, options.image).items():
        (options.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (options.folder / path).write_text(text, encoding="utf-8")
    print(f"bundle: {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
