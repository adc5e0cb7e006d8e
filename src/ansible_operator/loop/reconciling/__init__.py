# SPDX-License-Identifier: Apache-2.0
"""One reconcile of one object: variables, run, result, conditions, finalizer."""
