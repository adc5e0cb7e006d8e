# SPDX-License-Identifier: Apache-2.0
"""Objects in a bucket or files in a folder, behind one interface."""
