# SPDX-License-Identifier: Apache-2.0
"""Write what the image consists of as a CycloneDX document: sbom.py FILE VERSION.

Runs while the image is built, with nothing but Python. It lists the packages of the base image,
that of the init process, which another image lent, and the Python packages of /opt/operator.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

SITE_PACKAGES = "/opt/operator/lib/python3*/site-packages"
DEBIAN = "var/lib/dpkg"
LENT = "build/init.packages"
"""Lines of dpkg-query about packages of another image, in the format below."""
_FORMAT = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"
_RPM_FORMAT = "%{NAME}\t%{VERSION}-%{RELEASE}\t%{ARCH}\n"


def system_packages(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the packages of a root folder that Debian's or Red Hat's package manager installed."""
    if (root / DEBIAN).exists():
        command = ["dpkg-query", f"--admindir={root / DEBIAN}", "-W", f"-f={_FORMAT}"]
        yield from debian_packages(_output(command))
    else:
        yield from rpm_packages(_output(["rpm", "--root", str(root), "-qa", "--qf", _RPM_FORMAT]))
    if (root / LENT).exists():
        yield from debian_packages((root / LENT).read_text(encoding="utf-8"))


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rpm_packages(listed: str) -> Iterator[dict[str, Any]]:
    """Yield packages from lines of rpm; keys of publishers, which it lists, too, are none."""
    for line in sorted(listed.splitlines()):
        name, version, architecture = line.split("\t")
        if name != "gpg-pubkey":
            purl = f"pkg:rpm/redhat/{name}@{version}?arch={architecture}"
            yield {"type": "library", "name": name, "version": version, "purl": purl}


def debian_packages(listed: str) -> Iterator[dict[str, Any]]:
    """Yield installed packages from lines of dpkg-query."""
    for line in listed.splitlines():
        status, name, version, architecture = line.split("\t")
        if status.startswith("ii"):
            purl = f"pkg:deb/debian/{name}@{version}?arch={architecture}"
            yield {"type": "library", "name": name, "version": version, "purl": purl}


def python_packages(root: Path) -> Iterator[dict[str, Any]]:
    """Yield the Python packages of the operator's environment below a root folder."""
    pattern = f"{SITE_PACKAGES.lstrip('/')}/*.dist-info/METADATA"
    for path in sorted(root.glob(pattern)):
        metadata = HeaderParser().parsestr(path.read_text(encoding="utf-8"))
        name, version = metadata["Name"], metadata["Version"]
        entry = {"type": "library", "name": name, "version": version}
        entry["purl"] = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        licence = metadata["License-Expression"] or metadata["License"] or ""
        if licence and "\n" not in licence:
            entry["licenses"] = [{"license": {"name": licence}}]
        yield entry


def document(root: Path, version: str) -> dict[str, Any]:
    """Return the bill of materials of a root folder."""
    components = [*system_packages(root), *python_packages(root)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "container", "name": "ansible-operator", "version": version}
        },
        "components": components,
    }


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document(Path("/"), sys.argv[2]), indent=1) + "\n")
