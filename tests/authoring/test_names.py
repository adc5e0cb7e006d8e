# SPDX-License-Identifier: Apache-2.0
"""Names that are refused say what is wrong with which option, and what to write."""

import pytest

from ansible_operator.authoring.names import kind_names, plural_of, project_name, role_name
from ansible_operator.errors import ConfigError


def test_names_of_a_kind() -> None:
    names = kind_names("cache.example.com", "v1alpha1", "MemcachedPool")
    assert names.plural == "memcachedpools"
    assert names.definition == "memcachedpools.cache.example.com"
    assert names.api_version == "cache.example.com/v1alpha1"
    assert names.definition_file == "config/crd/cache.example.com_memcachedpools.yaml"
    assert names.sample_file == "config/samples/cache_v1alpha1_memcachedpool.yaml"


@pytest.mark.parametrize(
    ("group", "version", "kind", "plural", "said"),
    [
        (
            "example.com",
            "v1",
            "memcached",
            "",
            "--kind 'memcached' is not CamelCase; write Memcached",
        ),
        ("example.com", "v1", "mem-cached", "", "write MemCached"),
        ("example.com", "v1", "9", "", "write a name such as Memcached"),
        ("example.com", "v1", "Größe", "", "is not CamelCase"),
        ("example.com", "v1", "A" * 64, "", "is not CamelCase"),
        ("cache", "v1", "Thing", "", "--group 'cache' is no DNS name of two or more parts"),
        ("Example.com", "v1", "Thing", "", "--group 'Example.com' is no DNS name"),
        ("../x.y", "v1", "Thing", "", "is no DNS name"),
        ("a.b\n", "v1", "Thing", "", "is no DNS name"),
        ("", "v1", "Thing", "", "is no DNS name"),
        ("apps.k8s.io", "v1", "Thing", "", "belongs to Kubernetes"),
        ("x.kubernetes.io", "v1", "Thing", "", "belongs to Kubernetes"),
        ("example.com", "1", "Thing", "", "--version '1' is no API version; write v1"),
        ("example.com", "v1alpha", "Thing", "", "is no API version"),
        ("example.com", "v0", "Thing", "", "is no API version"),
        ("example.com", "v1", "Thing", "Things", "--plural 'Things' is no DNS label"),
        ("example.com", "v1", "Thing", "a/b", "write things"),
    ],
)
def test_other_names_are_refused(
    group: str, version: str, kind: str, plural: str, said: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        kind_names(group, version, kind, plural)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("Memcached", "memcacheds"),
        ("Proxy", "proxies"),
        ("Gateway", "gateways"),
        ("Ingress", "ingresses"),
        ("Box", "boxes"),
        ("Batch", "batches"),
    ],
)
def test_plurals(kind: str, plural: str) -> None:
    assert plural_of(kind) == plural


@pytest.mark.parametrize(
    "name", ["", "Upper", "under_score", "a" * 41, "1st", "end-", "a.b", "a/b"]
)
def test_a_project_has_a_name_for_objects(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot name a project"):
        project_name(name)


@pytest.mark.parametrize("name", ["", "a-b", "Role", "1"])
def test_a_role_has_a_name_for_ansible(name: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a role"):
        role_name(name)
