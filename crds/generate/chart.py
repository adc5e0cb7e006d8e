# SPDX-License-Identifier: Apache-2.0
"""CRDs as templates of the operator's chart: upgraded with it, kept when it goes."""

import re

FOLDER = "charts/matrixone-operator/templates/crds"
_HEADER = """\
{{- /*
# SPDX-License-Identifier: Apache-2.0
# Made by `make crds` from crds/schema/; do not edit.
*/ -}}
{{- if .Values.crds.enabled }}
"""
_KEEP = """\
  annotations:
    helm.sh/resource-policy: keep
"""
_NAME = re.compile(r"^  name: .*\n", re.MULTILINE)
_BRACES = re.compile(r"\{\{|\}\}")


class DefinitionError(Exception):
    """A CRD does not look as the generator of CRDs writes it."""


def template(definition: str) -> str:
    """The template for a CRD.

    Args:
        definition: text of the file under ``crds/``.

    Raises:
        DefinitionError: its metadata has no name, or annotations of its own.
    """
    _, _, document = definition.partition("---\n")
    escaped = _BRACES.sub(lambda braces: '{{ "' + braces[0] + '" }}', document)
    head, spec, rest = escaped.partition("\nspec:\n")
    head += "\n"
    if not _NAME.search(head) or "annotations:" in head:
        raise DefinitionError(f"metadata is not as expected: {head}")
    kept = _NAME.sub(lambda name: name[0] + _KEEP, head, count=1)
    return _HEADER + kept.rstrip("\n") + spec + rest + "{{- end }}\n"
