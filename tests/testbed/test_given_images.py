# SPDX-License-Identifier: Apache-2.0
"""Archives of images that a user brings: what is read from them, kept of them, and refused."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from testbed import database
from testbed.database import Database, chosen
from testbed.errors import RequirementError
from testbed.images import given, layers, oci, recipes
from testbed.images.archives import ArchiveError
from testbed.images.oci import Entry, Image

REFERENCE = "docker.io/matrixorigin/matrixone:4.2.0"
PROGRAM = b"\x7fELF the program"
HERE, THERE = oci.architecture(), {"amd64": "arm64"}.get(oci.architecture(), "amd64")

Files = Mapping[str, bytes]
Write = Callable[[Path], Path]


def gzipped(content: bytes) -> bytes:
    """Compress without the present time: names of tests must be the same in all workers."""
    return gzip.compress(content, mtime=0)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, in which no draft may be left."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TESTBED_CACHE", str(folder))
    return folder


def tar(files: Iterable[tuple[str, bytes | str]]) -> bytes:
    """Return a tar of files; a text is the target of a hard link."""
    encoded = io.BytesIO()
    with tarfile.open(fileobj=encoded, mode="w") as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.LNKTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return encoded.getvalue()


LAYER = tar([("mo-service", PROGRAM)])


def media_type(layer: bytes) -> str:
    return f"{oci.LAYER}+gzip" if layer.startswith(b"\x1f\x8b") else oci.LAYER


def plain(layer: bytes) -> bytes:
    return gzip.decompress(layer) if layer.startswith(b"\x1f\x8b") else layer


class Layout:
    """An OCI layout in the making."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
        self.listed: list[dict[str, Any]] = []

    def blob(self, media_type: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return oci.descriptor(media_type, digest, len(content))

    def document(self, media_type: str, content: Any) -> dict[str, Any]:
        return self.blob(media_type, json.dumps(content).encode())

    def manifest(
        self,
        *layers: bytes,
        architecture: str = HERE,
        entrypoint: str = "/own",
        labels: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {"Entrypoint": [entrypoint], "Labels": labels},
        }
        described = [self.blob(media_type(layer), layer) for layer in layers]
        manifest = oci.manifest(self.document(oci.CONFIG, config), described)
        return self.document(oci.MANIFEST, manifest)

    def add(self, descriptor: Mapping[str, Any], *names: str, **fields: Any) -> "Layout":
        """List an image, once for each of its names."""
        for name in names or [""]:
            annotations = {"annotations": {"org.opencontainers.image.ref.name": name}}
            self.listed.append({**descriptor, **(annotations if name else {}), **fields})
        return self

    def encoded(self) -> bytes:
        index = json.dumps({"schemaVersion": 2, "manifests": self.listed}).encode()
        return tar([("index.json", index), *self.files.items()])


def layout(*layers: bytes, name: str = "3.0.18", **how: Any) -> bytes:
    made = Layout()
    return made.add(made.manifest(*layers, **how), name).encoded()


def docker(*entries: tuple[Sequence[str], str], layer: bytes = LAYER) -> bytes:
    """Return what `docker save` wrote before it wrote OCI layouts; images by tags, platform."""
    files, listed = [], []
    for number, (tags, architecture) in enumerate(entries):
        config = {"architecture": architecture, "os": "linux", "config": {"Entrypoint": ["/own"]}}
        files += [
            (f"{number}.json", json.dumps({**config, "number": number}).encode()),
            (f"{number}/layer.tar", layer),
        ]
        listed.append(
            {"Config": f"{number}.json", "RepoTags": list(tags), "Layers": [f"{number}/layer.tar"]}
        )
    return tar([("manifest.json", json.dumps(listed).encode()), *files])


def saved(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def multi_platform() -> bytes:
    """An index of an index, with an attestation, as newer versions of docker write it."""
    made = Layout()
    here, there = made.manifest(LAYER), made.manifest(LAYER, architecture=THERE)
    del made.files[f"blobs/sha256/{there['digest'][7:]}"]  # not saved
    index = made.document(
        "application/vnd.oci.image.index.v1+json",
        {
            "manifests": [
                {**there, "platform": {"os": "linux", "architecture": THERE}},
                {**here, "platform": {"os": "linux", "architecture": HERE}},
                {**there, "platform": {"os": "unknown", "architecture": "unknown"}},
            ]
        },
    )
    return made.add(index, "docker.io/matrixorigin/matrixone:3.0.18").encoded()


def tagged_twice() -> bytes:
    made = Layout()
    return made.add(made.manifest(LAYER), "latest", "v3.0.18").encoded()


def two_versions() -> bytes:
    made = Layout()
    return made.add(made.manifest(LAYER), "3.0.17", "3.0.18").encoded()


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (layout(LAYER), "3.0.18"),
        (layout(LAYER, name="registry:5000/matrixone:3.0.18"), "3.0.18"),
        (layout(LAYER, name="x/y:2.0.5-hotfix-1@sha256:00"), "2.0.5-hotfix-1"),
        (layout(LAYER, name="latest"), ""),
        (layout(LAYER, name=""), ""),
        (layout(LAYER, name="", labels={"org.opencontainers.image.version": "v3.0.9"}), "3.0.9"),
        (layout(LAYER, labels={"org.opencontainers.image.version": "22.04.1"}), "3.0.18"),
        (layout(gzipped(LAYER)), "3.0.18"),
        (layout(LAYER, tar([("etc/other", b"")])), "3.0.18"),
        (multi_platform(), "3.0.18"),
        (tagged_twice(), "3.0.18"),
        (two_versions(), ""),
        (docker((["matrixorigin/matrixone:3.0.18"], HERE)), "3.0.18"),
        (docker(([], HERE)), ""),
        (docker((["x:1.0.0"], THERE), (["x:3.0.18"], HERE)), "3.0.18"),
        (docker((["x:3.0.18"], HERE), layer=gzipped(LAYER)), "3.0.18"),
    ],
)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_an_image_is_copied_under_our_name_and_stays_as_it_is(
    content: bytes, version: str, is_compressed: bool, tmp_path: Path, cache: Path
) -> None:
    path = saved(tmp_path / "image", gzipped(content) if is_compressed else content)

    assert given.version(path) == version
    target = given.write(path, REFERENCE, cache / "images" / "copy.tar")

    with tarfile.open(target) as archive:
        files = {one.name: reader.read() for one in archive if (reader := archive.extractfile(one))}
    for name, blob in files.items():
        if name.startswith("blobs/"):
            assert name.rpartition("/")[2] == hashlib.sha256(blob).hexdigest()
    [described] = json.loads(files["index.json"])["manifests"]
    assert described["annotations"]["io.containerd.image.name"] == REFERENCE
    manifest = json.loads(files[f"blobs/sha256/{described['digest'][7:]}"])
    config = json.loads(files[f"blobs/sha256/{manifest['config']['digest'][7:]}"])
    assert config["config"]["Entrypoint"] == ["/own"]
    assert config["architecture"] == HERE
    kept = [files[f"blobs/sha256/{one['digest'][7:]}"] for one in manifest["layers"]]
    assert plain(kept[0]) == LAYER
    assert manifest["layers"][0]["mediaType"] == media_type(kept[0])
    assert [one.name for one in (cache / "images").iterdir()] == ["copy.tar"]


def test_what_the_test_bed_writes_can_be_given(tmp_path: Path, cache: Path) -> None:
    """And such a copy as well: nothing is added with each copy."""
    image = Image(
        "docker.io/x/y:3.0.18", [Entry("/mo-service", content=PROGRAM)], entrypoint=["/mo-service"]
    )
    first = oci.write(image, tmp_path / "first.tar")
    second = given.write(first, REFERENCE, tmp_path / "second.tar")
    third = given.write(second, REFERENCE, tmp_path / "third.tar")
    assert given.version(first) == "3.0.18"
    assert given.version(second) == "4.2.0"
    assert second.read_bytes() == third.read_bytes()


def broken(content: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert old in content
    return content.replace(old, new)


def several() -> bytes:
    made = Layout()
    made.add(made.manifest(LAYER), "x:3.0.18")
    return made.add(made.manifest(LAYER, entrypoint="/other"), "").encoded()


def endless() -> bytes:
    """An index with so many images that reading them all would take too long."""
    made = Layout()
    described = made.manifest(LAYER, architecture=THERE)
    made.listed = [described] * 1001
    return made.encoded()


def with_index(content: bytes) -> bytes:
    return tar([("index.json", content)])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a whole tar or tar.gz archive of an image (empty file): save the image again"),
        (b"no tar" * 200, "is not a whole tar or tar.gz archive of an image ("),
        (layout(LAYER)[:1400], "lacks blobs/sha256/"),
        (layout(LAYER)[:4000], "is not a whole tar or tar.gz archive of an image ("),
        (gzipped(layout(LAYER))[:-40], "is damaged or ends too early ("),
        (b"\x1f\x8b no gzip", "is damaged or ends too early ("),
        (gzipped(b"no tar" * 200), "is not a whole tar or tar.gz archive of an image ("),
        (LAYER, "is a tar without an image (neither index.json nor manifest.json): write it with"),
        (tar([("../index.json", b"{}")]), "has a file '../index.json', outside of its folder"),
        (with_index(b"{"), "has no JSON in index.json"),
        (with_index(b"[" * 100_000), "has no JSON in index.json"),
        (with_index(b"[]"), "has documents of an unknown form"),
        (with_index(b'{"manifests": ["x"]}'), "has documents of an unknown form"),
        (with_index(b" " * (5 << 20)), "has 5242880 bytes in index.json"),
        (
            with_index(b'{"manifests": [{"digest": "../../etc/passwd"}]}'),
            "names a blob '../../etc/passwd', not by its SHA-256",
        ),
        (with_index(b'{"manifests": []}'), f"has no image for linux/{HERE}, only: none"),
        (
            layout(LAYER, architecture=THERE),
            f"has no image for linux/{HERE}, only: linux/{THERE}: save it with --platform linux/",
        ),
        (docker((["x:1"], THERE)), f"has no image for linux/{HERE}, only: linux/{THERE}"),
        (several(), f"has 2 images for linux/{HERE} (one without a name, x:3.0.18): save only one"),
        (docker((["x:1"], HERE), (["x:2"], HERE)), f"has 2 images for linux/{HERE} (x:1, x:2)"),
        (endless(), "lists more than 1000 images"),
        (tar([("manifest.json", b'[{"Config": "c", "Layers": []}]')]), "lacks c: save"),
        (tar([("manifest.json", "manifest.json")]), "lacks manifest.json"),
        (broken(layout(LAYER), b"the program", b"the malware"), "is damaged: sha256:"),
        (layout(tar([("etc/passwd", b"")])), "has no /mo-service in its image: give an image of"),
        (layout(LAYER, tar([("../x", b"")])), "that has '../x', which leads out of the image"),
        (layout(LAYER, tar([("/a/../../x", b"")])), "that has '/a/../../x', which leads out"),
        (layout(LAYER, tar([("x", "../../etc/shadow")])), "that has 'x', which leads out"),
        (layout(LAYER[:700]), "that is damaged ("),
        (layout(b"\x28\xb5\x2f\xfd no tar"), "that is compressed with zstd: save the image again"),
        (layout(gzipped(LAYER)[:-30]), "that is damaged ("),
    ],
)  # fmt: skip
def test_what_no_node_should_get_is_refused_and_leaves_nothing(
    content: bytes, message: str, tmp_path: Path, cache: Path
) -> None:
    path = saved(tmp_path / "image.tar", content)
    with pytest.raises(ArchiveError) as refused:
        given.write(path, REFERENCE, cache / "images" / "copy.tar")
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)
    assert list((cache / "images").iterdir()) == []


_WRONG: tuple[Any, ...] = (None, 7, "x", [], {}, [7], {"x": 7})


def places(document: Any) -> Iterable[tuple[Any, Any]]:
    """All places in a document where another value could be: container and key."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(items):
        yield document, key
        if isinstance(value, dict | list):
            yield from places(value)


def mistaken(document: Any) -> Iterable[Any]:
    """A document with one value replaced, in every place and with every wrong one."""
    for container, key in list(places(document)):
        right = container[key]
        for wrong in _WRONG:
            container[key] = wrong
            yield document
        container[key] = right


def mistaken_archives() -> Iterable[bytes]:
    made = Layout()
    described = made.manifest(LAYER, labels={"org.opencontainers.image.version": "3.0.18"})
    index = made.document("application/vnd.oci.image.index.v1+json", {"manifests": [described]})
    made.add(index, "x:3.0.18", platform={"os": "linux", "architecture": HERE})
    for listed in mistaken(made.listed):
        made.listed = listed
        yield made.encoded()
    made.listed = []
    manifest = json.loads(made.files[f"blobs/sha256/{described['digest'][7:]}"])
    config = json.loads(made.files[f"blobs/sha256/{manifest['config']['digest'][7:]}"])
    kept = dict(made.files)
    for wrong in mistaken(manifest):
        made.files = dict(kept)
        made.listed = [made.document(oci.MANIFEST, wrong)]
        yield made.encoded()
    for wrong in mistaken(config):
        made.files = dict(kept)
        described = made.document(oci.CONFIG, wrong)
        made.listed = [made.document(oci.MANIFEST, {**manifest, "config": described})]
        yield made.encoded()
    docker_config = json.dumps({"architecture": HERE, "os": "linux"}).encode()
    entries = [{"Config": "c.json", "RepoTags": ["x:3.0.18"], "Layers": ["layer.tar"]}]
    for wrong in mistaken(entries):
        documents = [("manifest.json", json.dumps(wrong).encode()), ("c.json", docker_config)]
        yield tar([*documents, ("layer.tar", LAYER)])


def test_documents_of_any_form_are_read_or_refused(tmp_path: Path, cache: Path) -> None:
    """No other error comes out of them, and nothing stays behind."""
    path, copy = tmp_path / "image.tar", cache / "images" / "copy.tar"
    refused = 0
    for content in mistaken_archives():
        saved(path, content)
        try:
            given.version(path)
            given.write(path, REFERENCE, copy)
        except ArchiveError:
            refused += 1
    assert refused > 100
    assert {one.name for one in copy.parent.iterdir()} <= {"copy.tar"}


def test_an_archive_that_ends_anywhere_is_refused(tmp_path: Path, cache: Path) -> None:
    whole, copy = layout(LAYER), cache / "images" / "copy.tar"
    with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
        end = max(one.offset_data + one.size for one in archive)
    for content in (whole[:end], gzipped(whole)):
        for length in range(0, len(content), 97):
            with pytest.raises(ArchiveError):
                given.write(saved(tmp_path / "image.tar", content[:length]), REFERENCE, copy)
    assert list(copy.parent.iterdir()) == []


def test_a_layer_larger_than_any_image_is_refused(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bytes of gzip can be as many as one likes."""
    path = saved(tmp_path / "image.tar", layout(LAYER))
    monkeypatch.setattr(layers, "MOST_BYTES", len(PROGRAM) - 1)
    with pytest.raises(ArchiveError, match="that is larger than any image: refused"):
        given.write(path, REFERENCE, cache / "images" / "copy.tar")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", False), ("/a", False), ("./a/../b", False), ("a/..", False), ("..a", False),
        ("..", True), ("../a", True), ("/../a", True), ("//../a", True), ("a/../../b", True),
    ],
)  # fmt: skip
def test_paths_that_lead_out(name: str, expected: bool) -> None:
    assert layers.leads_out(name) == expected


@pytest.mark.parametrize(
    ("name", "content", "version", "tag"),
    [
        ("image.tar", layout(LAYER), "", "3.0.18"),
        ("image.tar.gz", gzipped(layout(LAYER)), "", "3.0.18"),
        ("image.tgz", gzipped(docker((["x:3.0.18"], HERE))), "4.2.0", "4.2.0"),
        ("without-suffix", layout(LAYER), "", "3.0.18"),
        ("without-suffix", gzipped(layout(LAYER)), "", "3.0.18"),
    ],
)
def test_an_archive_stands_in_place_of_a_program(
    name: str, content: bytes, version: str, tag: str, tmp_path: Path
) -> None:
    path = saved(tmp_path / name, content)
    found = chosen({"MO_SERVICE": str(path), "MO_VERSION": version})
    assert found == Database(tag, archive=path)
    assert found.environment() == {}
    with pytest.raises(RequirementError, match=f"{path} is an image: what runs outside of a clust"):
        found.provide()

    copy = recipes.matrixone(found, lambda _: None)

    assert given.version(copy) == tag
    assert recipes.matrixone(found, lambda _: None) == copy


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (layout(LAYER, name="latest"), "does not report its version: set MO_VERSION, for example"),
        (b"no tar" * 200, "is not a whole tar or tar.gz archive of an image"),
        (several(), "has 2 images"),
    ],
)
def test_an_archive_that_cannot_run_is_refused_by_the_variable(
    content: bytes, message: str, tmp_path: Path, cache: Path
) -> None:
    path = saved(tmp_path / "image.tar", content)
    with pytest.raises(RequirementError) as refused:
        chosen({"MO_SERVICE": str(path)})
    assert str(refused.value).startswith(f"MO_SERVICE: {path} {message}")
    assert list((cache / "images").iterdir()) == []


def test_an_archive_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    path = saved(tmp_path / "image.tar", layout(LAYER, name="3.0.17"))
    assert database.chosen({"MO_SERVICE": str(path)}).tag == "3.0.17"
    saved(path, layout(LAYER, tar([]), name="3.0.18"))
    assert database.chosen({"MO_SERVICE": str(path)}).tag == "3.0.18"
