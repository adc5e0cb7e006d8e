# SPDX-License-Identifier: Apache-2.0
"""Manifests that users write, read as kubectl reads them."""
