# SPDX-License-Identifier: Apache-2.0
"""A role's README, as Ansible Galaxy shows it: what it runs, its variables, an example."""

from crds.generate import argument_specs
from crds.generate.sources import Kind

_PAGE = """\
<!-- Made by `make crds` from crds/schema/{source}; do not edit. -->
# matrixorigin.matrixone.{role}

{description}

The operator plays this role for each `{kind}`; a playbook can play it without an operator and
without CRDs.

| variable | type | meaning |
|---|---|---|
{variables}

```yaml
- name: Bring a {kind} to what its resource asks for
  ansible.builtin.include_role:
    name: matrixorigin.matrixone.{role}
  vars:
    {role}_resource: "{{{{ lookup('ansible.builtin.file', '{role}.yaml') | from_yaml }}}}"
```

`{role}.yaml` is a manifest with `apiVersion: {version}` and `kind: {kind}`. The fields are in the
API reference (docs/reference/api.md); defaults of the variables are in defaults/main.yml.
"""


def text(kind: Kind) -> str:
    """The README as Markdown."""
    options = argument_specs.entry_point(kind)["options"]
    rows = [
        f"| `{name}`{' (required)' if option.get('required') else ''} | {option['type']} "
        f"| {_plain(' '.join(option['description']))} |"
        for name, option in options.items()
    ]
    return _PAGE.format(
        source=kind.source,
        role=kind.role,
        kind=kind.name,
        description=kind.description,
        variables="\n".join(rows),
        version=kind.api_version,
    )


def _plain(marked: str) -> str:
    """Turn Ansible's markup of code and values into Markdown's."""
    for mark in ("C(", "V("):
        while mark in marked:
            before, _opened, rest = marked.partition(mark)
            inside, _closed, after = rest.partition(")")
            marked = f"{before}`{inside}`{after}"
    return marked
