# SPDX-License-Identifier: Apache-2.0
"""What all sets share: Pod template, overlay, storage, volumes, roll, removal. Pure functions."""
