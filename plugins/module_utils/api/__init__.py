# SPDX-License-Identifier: Apache-2.0
"""The words of the CRDs: names, versions, quantities, typed fields, errors. Pure functions."""
