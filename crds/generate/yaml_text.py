# SPDX-License-Identifier: Apache-2.0
"""Writes generated YAML: the same bytes for the same data, every part in full."""

from typing import Any

import yaml

from crds.generate.sources import Json

_HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# Made by `make crds` from crds/schema/{source}; do not edit.
---
"""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, _data: Any) -> bool:
        return True


class _IndentedDumper(_Dumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)


def generated(source: str, document: Json, *, compact: bool = False) -> str:
    """The text of a generated file.

    Args:
        source: file under ``crds/schema/`` that it follows from.
        document: its content.
        compact: whether size counts more than looks.
    """
    return _HEADER.format(source=source) + yaml.dump(
        document,
        Dumper=_Dumper if compact else _IndentedDumper,
        sort_keys=False,
        width=160 if compact else 110,
        allow_unicode=True,
    )
