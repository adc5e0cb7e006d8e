# SPDX-License-Identifier: Apache-2.0
"""Takes clusters over from the Go operator: data by name, one set after the other."""
