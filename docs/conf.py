# SPDX-License-Identifier: Apache-2.0
"""How Sphinx builds the documentation; `make docs` calls it."""

project = "matrixorigin.matrixone"
author = "MatrixOne maintainers"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
html_title = "MatrixOne on Kubernetes, run by Ansible"
myst_heading_anchors = 4
# Links that leave docs/ lead to files of the repository; the tests check that they exist.
suppress_warnings = ["myst.xref_missing"]
exclude_patterns: list[str] = []
