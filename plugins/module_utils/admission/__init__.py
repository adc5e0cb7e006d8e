# SPDX-License-Identifier: Apache-2.0
"""What the CRDs' schemas and CEL rules cannot say about a resource (core.md §11.4). Pure.

The same functions refuse at the door (the runner's webhook) and, where that is off, in the roles,
with the same words. They say only what Kubernetes or MatrixOne would refuse later anyway.
"""

from __future__ import annotations

from .refusals import mistakes_of, refusals, warnings_of
from .shapes import Mistake

__all__ = ["Mistake", "mistakes_of", "refusals", "warnings_of"]
