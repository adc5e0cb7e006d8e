# SPDX-License-Identifier: Apache-2.0
"""The API server with our CRDs."""

from tests.crds.conftest import installed

__all__ = ["installed"]
