# SPDX-License-Identifier: Apache-2.0
"""BucketClaim: which LogSet has which path in an object store, and the end of its data."""
