# SPDX-License-Identifier: Apache-2.0
"""RestoreJob: what is copied to where."""
