# SPDX-License-Identifier: Apache-2.0
"""Makes everything that follows from ``crds/schema/``: CRDs, argument specs, API reference.

Run it as ``python -m crds.generate`` from the repository root. A new kind needs one file in
``crds/schema/`` with the keys that :class:`crds.generate.sources.Kind` lists; nothing here names a
kind. Standard library and PyYAML only; no cluster is needed.
"""
